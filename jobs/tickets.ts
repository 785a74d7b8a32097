import { z } from 'zod';
import { defineJob, idRange, integer, text, value } from '../src/engine/job.ts';

export default defineJob({
  path: '/api/v2/tickets',
  description: 'A support ticket.',
  key: 'id',
  record: z.object({
    id: integer('The id at the source; null if it gives none.'),
    customer_id: integer('The customer: customers.id.'),
    subject: text('Subject.'),
    message: text('The first message.'),
    department_id: integer('The department, by its id at the source.'),
    priority: text('As the source calls it.'),
    status: text('Such as Open, Pending or Closed.'),
  }),
  // Most changes happen to tickets that are not closed, so those are read at every sync.
  slicings: [idRange(), value('status', ['Open', 'Pending'])],
});
