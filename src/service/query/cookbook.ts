/** Questions that people ask of the warehouse, in groups, and the SQL that answers each. */
const ANSWERS = {
  Money: {
    'Invoiced and paid by month': `select to_char(date, 'YYYY-MM') as month, sum(amount) as invoiced,
  sum(amount) filter (where status = 'Paid') as paid, sum(amount) filter (where status <> 'Paid') as open, count(*) as invoices
from invoices where date >= date_trunc('month', now()) - interval '12 months'
group by month order by month`,
    'Which customers owe us most?': `select c.account as customer, count(*) as open_invoices, sum(i.amount) as owed, min(i.due_date) as oldest_due
from invoices i join customers c on c.id = i.customer_id
where i.status in ('Unpaid', 'Partially Paid')
group by c.id order by owed desc limit 5`,
    'Open invoices by age': `select case when due_date >= current_date then 'not due yet' when due_date > current_date - 30 then 'up to 30 days late'
  when due_date > current_date - 90 then '31 to 90 days late' else 'more than 90 days late' end as age,
  sum(amount) as owed, count(*) as invoices
from invoices where status in ('Unpaid', 'Partially Paid')
group by age order by min(due_date) desc`,
    'Which invoices over 10,000 are overdue?': `select id, invoice_number, customer, due_date, days_overdue, amount, status
from overdue_invoices where amount > 10000`,
    'What were income and expenses in each of the last six months?': `select to_char(date, 'YYYY-MM') as month,
  round(sum(amount) filter (where type = 'Income'), 2) as income,
  round(sum(amount) filter (where type = 'Expense'), 2) as expense
from transactions where date <= current_date
group by month order by month desc limit 6`,
    'Which invoice lines brought in most in the last year?': `select translate(l.description, e'\\t\\n', '  ') as line, count(distinct i.customer_id) as customers,
  round(sum(l.amount * l.qty), 2) as revenue
from invoices i join invoice_items l on l.invoice_id = i.id
where i.date > current_date - 365
group by l.description order by revenue desc limit 5`,
  },
  Changes: {
    'Invoices that are new or changed since yesterday': `select id, invoice_number, customer_id, date, amount, status, _synced_at
from invoices where _synced_at > now() - interval '1 day' order by _synced_at desc limit 100`,
    'What changed since yesterday, with before and after': `select number, seen_at, resource, key, kind, before, after
from changes where seen_at > now() - interval '1 day' order by number desc limit 100`,
    'What was paid this week?': `select distinct on (i.id) i.id, i.invoice_number, i.amount, c.kind, c.earliest, c.seen_at
from changes c join invoices i on i.id::text = c.key
where c.resource = 'invoices' and c.kind in ('updated', 'inserted') and c.after->>'status' = 'Paid'
  and c.seen_at >= date_trunc('week', now()) and i.status = 'Paid'
order by i.id, c.number desc`,
    'What was edited in closed months, and when?': `select r.month, c.resource, c.key, c.kind, c.earliest, c.seen_at, c.before, c.after
from restatements r join changes c on c.resource = r.resource and c.key = r.key and c.seen_at > r.sealed_at
order by c.number desc limit 100`,
    'What was deleted at the source, and when?': `select resource, key, valid_to as deleted_at, row
from row_history where ended_by = 'deleted' order by valid_to desc limit 100`,
    'Changes that each day brought': `select ended_at::date as day, sum(inserted) as new, sum(updated) as changed, sum(deleted) as deleted
from sluice.runs where ended_at > now() - interval '30 days'
group by day order by day`,
  },
  Proof: {
    'Is last month complete, and as of when?': `select source, resource, complete, as_of
from sluice.complete((date_trunc('month', current_date) - interval '1 month')::date, (date_trunc('month', current_date) - interval '1 day')::date)`,
    'The parts that were proven longest ago': `select source, resource, slice, proven_at, rows from sluice.coverage
where slice = 'whole' or slice like 'date %' or slice like 'id %'
order by proven_at nulls first limit 20`,
    'What is in quarantine, and why?': `select source, resource, key, reasons, first_seen, attempts from sluice.quarantine
where resolved_at is null order by last_seen desc limit 100`,
    'Requests of the last day, by hour and purpose': `select date_trunc('hour', granted_at) as hour, split_part(purpose, ' ', 1) as resource, lane, count(*) as requests
from sluice.requests where granted_at > now() - interval '1 day'
group by 1, 2, 3 order by 1 desc, 4 desc`,
  },
};

interface Recipe {
  readonly group: string;
  readonly question: string;
  readonly sql: string;
}

export const COOKBOOK: readonly Recipe[] = Object.entries(ANSWERS).flatMap(([group, answers]) =>
  Object.entries(answers).map(([question, sql]) => ({ group, question, sql })),
);

export function recipeFor(question: string): Recipe {
  const recipe = COOKBOOK.find(each => each.question === question);
  if (recipe === undefined) throw new Error(`The cookbook does not answer: ${question}`);
  return recipe;
}
