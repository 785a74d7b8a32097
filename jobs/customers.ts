import { z } from 'zod';
import { defineJob, idRange, integer, one, text, timestamp } from '../src/engine/job.ts';

export default defineJob({
  path: '/api/v2/customers',
  key: 'id',
  record: z.object({
    id: integer(),
    account: text(),
    email: text(),
    phone: text(),
    address: text(),
    city: text(),
    state: text(),
    zip: text(),
    country: text(),
    created_at: timestamp(),
    updated_at: timestamp(),
  }),
  updatedAt: 'updated_at',
  slicings: [idRange(), one('/api/v2/customers/{key}')],
});
