/** Typical business questions, and the SQL that answers them. */
export const QUERIES: readonly { readonly question: string; readonly sql: string }[] = [
  {
    question: 'Which customers owe us most?',
    sql: `select c.account as customer, count(*) as open_invoices, sum(i.amount) as owed, min(i.due_date) as oldest_due
from invoices i join customers c on c.id = i.customer_id
where i.status in ('Unpaid', 'Partially Paid')
group by c.id order by owed desc limit 5`,
  },
  {
    question: 'What were income and expenses in each of the last six months?',
    sql: `select to_char(date, 'YYYY-MM') as month,
  round(sum(amount) filter (where type = 'Income'), 2) as income,
  round(sum(amount) filter (where type = 'Expense'), 2) as expense
from transactions where date <= current_date
group by month order by month desc limit 6`,
  },
  {
    question: 'Which invoice lines brought in most in the last year?',
    sql: `select translate(l.description, e'\\t\\n', '  ') as line, count(distinct i.customer_id) as customers,
  round(sum(l.amount * l.qty), 2) as revenue
from invoices i join invoice_items l on l.invoice_id = i.id
where i.date > current_date - 365
group by l.description order by revenue desc limit 5`,
  },
];
