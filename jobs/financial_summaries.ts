import { z } from 'zod';
import { decimal, defineJob, integer32, monthly, text } from '../src/engine/job.ts';

export default defineJob({
  path: '/api/v2/reports/financial',
  description: "What the source's own financial report says about a month.",
  schedule: '30 2 * * *',
  key: 'period',
  withoutKey: 'quarantine',
  record: z.object({
    period: text('The month, as YYYY-MM.'),
    year: integer32('The year of the month.'),
    month: integer32('The month of the year, from 1.'),
    income: decimal('Income of the month.'),
    expenses: decimal('Expenses of the month.'),
    profit: decimal('Income less expenses.'),
    outstanding_invoices: decimal('Outstanding invoices, as the source reports them.'),
  }),
  slicings: [
    monthly({
      query: (year, month) => ({ year, month }),
      fields: (year, month) => ({ period: `${year}-${month.padStart(2, '0')}`, year, month }),
      sumsUp: { transactions: 'date', invoices: 'date' },
    }),
  ],
});
