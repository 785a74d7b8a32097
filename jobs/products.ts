import { z } from 'zod';
import { decimal, defineJob, idRange, integer, text } from '../src/engine/job.ts';

export default defineJob({
  path: '/api/v2/products',
  schedule: '5 * * * *',
  key: 'id',
  record: z.object({
    id: integer(),
    name: text(),
    price: decimal(),
    description: text(),
    type: text(),
    tax_rate: decimal(),
  }),
  slicings: [idRange()],
});
