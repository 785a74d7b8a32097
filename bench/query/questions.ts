/** A question that people ask the warehouse, as they write it. `$1` is the parameter of a question that has one. */
export interface Question {
  readonly name: string;
  readonly sql: string;
  /** Finds the value of `$1`. */
  readonly parameter?: string;
}

export const QUESTIONS: readonly Question[] = [
  {
    name: 'open invoices',
    sql: `select id, invoice_number, customer_id, due_date, amount from invoices
      where status in ('Unpaid', 'Partially Paid') order by due_date limit 100`,
  },
  {
    name: 'receivables by age',
    sql: `select case when due_date >= current_date then 'not due' when due_date >= current_date - 30 then '1-30'
        when due_date >= current_date - 60 then '31-60' when due_date >= current_date - 90 then '61-90'
        else 'over 90' end as days, count(*), sum(amount)
      from invoices where status in ('Unpaid', 'Partially Paid') group by 1`,
  },
  {
    name: 'revenue by month',
    sql: `select date_trunc('month', date) as month, sum(amount) from transactions
      where type = 'Income' and date >= date_trunc('month', current_date) - interval '1 year' group by 1 order by 1`,
  },
  {
    name: 'top customers',
    sql: `select c.id, c.account, sum(i.amount) as total from invoices i join customers c on c.id = i.customer_id
      where i.date >= current_date - 365 group by c.id order by total desc limit 20`,
  },
  {
    name: 'invoices of a customer',
    sql: 'select id, invoice_number, date, amount, status from invoices where customer_id = $1 order by date desc',
    parameter: 'select customer_id from invoices group by 1 order by count(*) desc, 1 limit 1',
  },
  {
    name: 'items of an invoice',
    sql: 'select line, description, amount, qty from invoice_items where invoice_id = $1 order by line',
    parameter: 'select invoice_id from invoice_items group by 1 order by count(*) desc, 1 limit 1',
  },
  {
    name: 'newest transactions',
    sql: 'select id, date, type, amount, description from transactions order by date desc limit 50',
  },
  {
    name: 'expenses by category',
    sql: `select category_id, count(*), sum(amount) from transactions
      where type = 'Expense' and date >= current_date - 365 group by 1 order by 3 desc`,
  },
  {
    name: 'open tickets by department',
    sql: `select department_id, priority, count(*) from tickets where status in ('Open', 'Pending') group by 1, 2 order by 1, 2`,
  },
  {
    name: 'quotes with an invoice',
    sql: `select date_trunc('month', q.valid_until) as month, count(*) as quotes,
        count(*) filter (where exists (select from invoices i where i.customer_id = q.customer_id
          and i.date between q.valid_until - 30 and q.valid_until + 30)) as invoiced
      from quotes q group by 1 order by 1`,
  },
];
