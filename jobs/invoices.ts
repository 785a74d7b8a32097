import { z } from 'zod';
import { date, dateWindow, decimal, defineJob, integer, list, text, value } from '../src/engine/job.ts';

export default defineJob({
  path: '/api/v2/invoices',
  key: 'id',
  record: z.object({
    id: integer(),
    invoice_number: text(),
    customer_id: integer(),
    date: date(),
    due_date: date(),
    amount: decimal(),
    status: text(),
    notes: text(),
    items: list(z.object({ description: text(), amount: decimal(), qty: decimal() })),
  }),
  children: { items: { table: 'invoice_items', parent: 'invoice_id' } },
  events: { 'invoice.created': ['invoice_id', 'id'], 'payment.received': ['invoice_id', 'id'] },
  // Most changes happen to invoices that are still open, so those are read at every sync.
  slicings: [
    dateWindow('date', 'date_from', 'date_to'),
    value('status', ['Unpaid', 'Partially Paid']),
    value('customer_id'),
  ],
});
