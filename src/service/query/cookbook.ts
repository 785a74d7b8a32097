/** A question that people ask of the warehouse, and the SQL that answers it. */
export interface Recipe {
  readonly group: 'Money' | 'Changes' | 'Proof';
  readonly question: string;
  readonly sql: string;
}

export const COOKBOOK: readonly Recipe[] = [
  {
    group: 'Money',
    question: 'Invoiced and paid by month',
    sql: `select to_char(date, 'YYYY-MM') as month, sum(amount) as invoiced,
  sum(amount) filter (where status = 'Paid') as paid, sum(amount) filter (where status <> 'Paid') as open, count(*) as invoices
from invoices where date >= date_trunc('month', now()) - interval '12 months'
group by month order by month`,
  },
  {
    group: 'Money',
    question: 'Which customers owe us most?',
    sql: `select c.account as customer, count(*) as open_invoices, sum(i.amount) as owed, min(i.due_date) as oldest_due
from invoices i join customers c on c.id = i.customer_id
where i.status in ('Unpaid', 'Partially Paid')
group by c.id order by owed desc limit 5`,
  },
  {
    group: 'Money',
    question: 'Open invoices by age',
    sql: `select case when due_date >= current_date then 'not due yet' when due_date > current_date - 30 then 'up to 30 days late'
  when due_date > current_date - 90 then '31 to 90 days late' else 'more than 90 days late' end as age,
  sum(amount) as owed, count(*) as invoices
from invoices where status in ('Unpaid', 'Partially Paid')
group by age order by min(due_date) desc`,
  },
  {
    group: 'Money',
    question: 'What were income and expenses in each of the last six months?',
    sql: `select to_char(date, 'YYYY-MM') as month,
  round(sum(amount) filter (where type = 'Income'), 2) as income,
  round(sum(amount) filter (where type = 'Expense'), 2) as expense
from transactions where date <= current_date
group by month order by month desc limit 6`,
  },
  {
    group: 'Money',
    question: 'Which invoice lines brought in most in the last year?',
    sql: `select translate(l.description, e'\\t\\n', '  ') as line, count(distinct i.customer_id) as customers,
  round(sum(l.amount * l.qty), 2) as revenue
from invoices i join invoice_items l on l.invoice_id = i.id
where i.date > current_date - 365
group by l.description order by revenue desc limit 5`,
  },
  {
    group: 'Changes',
    question: 'Invoices that are new or changed since yesterday',
    sql: `select id, invoice_number, customer_id, date, amount, status, _synced_at
from invoices where _synced_at > now() - interval '1 day' order by _synced_at desc limit 100`,
  },
  {
    group: 'Changes',
    question: 'What was deleted at the source, and when?',
    sql: `select resource, key, valid_to as deleted_at, row
from row_history where ended_by = 'deleted' order by valid_to desc limit 100`,
  },
  {
    group: 'Changes',
    question: 'Changes that each day brought',
    sql: `select ended_at::date as day, sum(inserted) as new, sum(updated) as changed, sum(deleted) as deleted
from sluice.runs where ended_at > now() - interval '30 days'
group by day order by day`,
  },
  {
    group: 'Proof',
    question: 'Is last month complete, and as of when?',
    sql: `select source, resource, complete, as_of
from sluice.complete((date_trunc('month', current_date) - interval '1 month')::date, (date_trunc('month', current_date) - interval '1 day')::date)`,
  },
  {
    group: 'Proof',
    question: 'The parts that were proven longest ago',
    sql: `select source, resource, slice, proven_at, rows from sluice.coverage
where slice = 'whole' or slice like 'date %' or slice like 'id %'
order by proven_at nulls first limit 20`,
  },
  {
    group: 'Proof',
    question: 'What is in quarantine, and why?',
    sql: `select source, resource, key, reasons, first_seen, attempts from sluice.quarantine
where resolved_at is null order by last_seen desc limit 100`,
  },
  {
    group: 'Proof',
    question: 'Requests of the last day, by hour and purpose',
    sql: `select date_trunc('hour', granted_at) as hour, split_part(purpose, ' ', 1) as resource, lane, count(*) as requests
from sluice.requests where granted_at > now() - interval '1 day'
group by 1, 2, 3 order by 1 desc, 4 desc`,
  },
];

export function recipeFor(question: string): Recipe {
  const recipe = COOKBOOK.find(each => each.question === question);
  if (recipe === undefined) throw new Error(`The cookbook does not answer: ${question}`);
  return recipe;
}
