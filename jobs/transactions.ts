import { z } from 'zod';
import { date, dateWindow, decimal, defineJob, integer, text } from '../src/engine/job.ts';

export default defineJob({
  path: '/api/v2/transactions',
  key: 'id',
  record: z.object({
    id: integer(),
    type: text(),
    account_id: integer(),
    category_id: integer(),
    amount: decimal(),
    description: text(),
    date: date(),
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
