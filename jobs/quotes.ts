import { z } from 'zod';
import { date, decimal, defineJob, idRange, integer, list, text } from '../src/engine/job.ts';

export default defineJob({
  path: '/api/v2/quotes',
  description: 'A quote; its items are in quote_items.',
  key: 'id',
  record: z.object({
    id: integer('The id at the source; null if it gives none.'),
    customer_id: integer('The customer: customers.id.'),
    valid_until: date('The last day on which it can be accepted.'),
    items: list(
      z.object({
        description: text('What is offered.'),
        amount: decimal('As the source reports it, whether the price of one or of all.'),
        qty: decimal('Quantity.'),
      }),
    ),
  }),
  children: { items: { table: 'quote_items', parent: 'quote_key', description: 'An item of a quote.' } },
  slicings: [idRange()],
});
