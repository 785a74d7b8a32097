import { z } from 'zod';
import { date, decimal, defineJob, idRange, integer, list, text } from '../src/engine/job.ts';

export default defineJob({
  path: '/api/v2/quotes',
  key: 'id',
  record: z.object({
    id: integer(),
    customer_id: integer(),
    valid_until: date(),
    items: list(z.object({ description: text(), amount: decimal(), qty: decimal() })),
  }),
  children: { items: { table: 'quote_items', parent: 'quote_key' } },
  slicings: [idRange()],
});
