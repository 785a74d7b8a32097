import { z } from 'zod';
import { date, dateWindow, decimal, defineJob, integer, list, text, value } from '../src/engine/job.ts';

export default defineJob({
  path: '/api/v2/invoices',
  description: 'An invoice; its items are in invoice_items.',
  key: 'id',
  withoutKey: 'quarantine',
  record: z.object({
    id: integer('The id at the source.'),
    invoice_number: text('The number that people see.'),
    customer_id: integer('The customer: customers.id.'),
    date: date('Date of the invoice.'),
    due_date: date('When it is to be paid.'),
    amount: decimal('Total of the invoice.'),
    status: text('As the source calls it, such as Unpaid, Partially Paid or Paid.'),
    notes: text('Notes on the invoice.'),
    items: list(
      z.object({
        description: text('What was sold.'),
        amount: decimal('As the source reports it, whether the price of one or of all.'),
        qty: decimal('Quantity.'),
      }),
    ),
  }),
  children: { items: { table: 'invoice_items', parent: 'invoice_id', description: 'An item of an invoice.' } },
  events: { 'invoice.created': ['invoice_id', 'id'], 'payment.received': ['invoice_id', 'id'] },
  // Most changes happen to invoices that are still open, so those are read at every sync.
  slicings: [
    dateWindow('date', 'date_from', 'date_to'),
    value('status', ['Unpaid', 'Partially Paid']),
    value('customer_id'),
  ],
});
