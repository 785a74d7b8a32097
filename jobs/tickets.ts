import { z } from 'zod';
import { defineJob, idRange, integer, text, value } from '../src/engine/job.ts';

export default defineJob({
  path: '/api/v2/tickets',
  key: 'id',
  record: z.object({
    id: integer(),
    customer_id: integer(),
    subject: text(),
    message: text(),
    department_id: integer(),
    priority: text(),
    status: text(),
  }),
  // Most changes happen to tickets that are not closed, so those are read at every sync.
  slicings: [idRange(), value('status', ['Open', 'Pending'])],
});
