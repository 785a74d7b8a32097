import { z } from 'zod';
import { decimal, defineJob, integer, monthly, text } from '../src/engine/job.ts';

export default defineJob({
  path: '/api/v2/reports/financial',
  schedule: '30 2 * * *',
  key: 'period',
  record: z.object({
    period: text(),
    year: integer(),
    month: integer(),
    income: decimal(),
    expenses: decimal(),
    profit: decimal(),
    outstanding_invoices: decimal(),
  }),
  slicings: [
    monthly({
      query: (year, month) => ({ year, month }),
      fields: (year, month) => ({ period: `${year}-${month.padStart(2, '0')}`, year, month }),
      sumsUp: { transactions: 'date', invoices: 'date' },
    }),
  ],
});
