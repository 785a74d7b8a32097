import { z } from 'zod';
import { date, dateWindow, decimal, defineJob, integer, text } from '../src/engine/job.ts';

export default defineJob({
  path: '/api/v2/transactions',
  description: 'Money that came in or went out.',
  key: 'id',
  record: z.object({
    id: integer('The id at the source; null if it gives none.'),
    type: text('Such as Income or Expense.'),
    account_id: integer('The bank or cash account, by its id at the source.'),
    category_id: integer('The category, by its id at the source.'),
    amount: decimal('Amount, as the source reports it.'),
    description: text('What it was for.'),
    date: date('When it was booked.'),
  }),
  events: { 'payment.received': [] },
  slicings: [dateWindow('date', 'date_from', 'date_to')],
  control: {
    path: '/api/v2/reports/financial',
    query: month => ({ year: month.slice(0, 4), month: String(Number(month.slice(5))) }),
    sums: {
      income: { of: 'amount', where: { type: 'Income' } },
      expenses: { of: 'amount', where: { type: 'Expense' } },
    },
  },
});
