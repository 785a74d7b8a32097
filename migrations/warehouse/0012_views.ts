import { type Kysely, sql } from 'kysely';

interface View {
  readonly comment: string;
  readonly columns: Readonly<Record<string, string>>;
  readonly query: string;
}

const CURRENCY = 'SOURCE_CURRENCY; null where it is not set, as the API names no currency.';
const OPEN = {
  id: 'invoices.id',
  invoice_number: 'The number that people see.',
  customer_id: 'customers.id',
  customer: 'Name of the customer.',
  date: 'Date of the invoice.',
  due_date: 'When it is to be paid.',
  days_overdue: 'Days since the due date; negative before it.',
  amount: 'Total of the invoice: how much of it was paid already, the API does not tell.',
  status: 'Unpaid or Partially Paid.',
  currency: CURRENCY,
};
const CUSTOMER = { customer_id: 'customers.id', customer: 'Name of the customer.' };

/** What people ask of the warehouse. Invoices that are neither paid nor open, such as drafts, count as billed only where a view says so. */
function viewsOf(schema: string): Readonly<Record<string, View>> {
  const currency = `(select currency from sluice.sources where schema = ${schema} order by since limit 1) as currency`;
  return {
    open_invoices: {
      comment: 'Invoices that are Unpaid or Partially Paid, the longest overdue first.',
      columns: OPEN,
      query: `select i.id, i.invoice_number, i.customer_id, c.account as customer, i.date, i.due_date,
          current_date - i.due_date as days_overdue, i.amount, i.status, ${currency}
        from invoices i left join customers c on c.id = i.customer_id
        where i.status in ('Unpaid', 'Partially Paid') order by i.due_date, i.id`,
    },
    overdue_invoices: {
      comment: 'Open invoices whose due date has passed, the longest overdue first.',
      columns: OPEN,
      query: 'select * from open_invoices where days_overdue > 0 order by days_overdue desc, id',
    },
    receivables_ageing: {
      comment: 'What each customer owes, by how long it is overdue.',
      columns: {
        ...CUSTOMER,
        not_due: 'Open invoices that are not due yet.',
        days_1_30: 'Overdue by 1 to 30 days.',
        days_31_60: 'Overdue by 31 to 60 days.',
        days_61_90: 'Overdue by 61 to 90 days.',
        over_90_days: 'Overdue by more than 90 days.',
        total: 'All open invoices.',
        currency: CURRENCY,
      },
      query: `select customer_id, customer,
          coalesce(sum(amount) filter (where days_overdue <= 0 or days_overdue is null), 0) as not_due,
          coalesce(sum(amount) filter (where days_overdue between 1 and 30), 0) as days_1_30,
          coalesce(sum(amount) filter (where days_overdue between 31 and 60), 0) as days_31_60,
          coalesce(sum(amount) filter (where days_overdue between 61 and 90), 0) as days_61_90,
          coalesce(sum(amount) filter (where days_overdue > 90), 0) as over_90_days,
          sum(amount) as total, currency
        from open_invoices group by customer_id, customer, currency order by total desc, customer_id`,
    },
    revenue_by_month: {
      comment: 'Invoices by the month of their date, those with another status included.',
      columns: {
        month: 'First day of the month.',
        invoices: 'How many.',
        billed: 'Their total.',
        paid: 'The total of those that are Paid.',
        open: 'The total of those that are Unpaid or Partially Paid.',
        currency: CURRENCY,
      },
      query: `select date_trunc('month', date)::date as month, count(*) as invoices, sum(amount) as billed,
          coalesce(sum(amount) filter (where status = 'Paid'), 0) as paid,
          coalesce(sum(amount) filter (where status in ('Unpaid', 'Partially Paid')), 0) as open, ${currency}
        from invoices where date is not null group by 1 order by 1`,
    },
    cash_flow_by_month: {
      comment: 'Transactions by month: what came in, what went out.',
      columns: {
        month: 'First day of the month.',
        income: 'Transactions of type Income.',
        expenses: 'Transactions of type Expense.',
        net: 'Income less expenses.',
        currency: CURRENCY,
      },
      query: `select date_trunc('month', date)::date as month,
          coalesce(sum(amount) filter (where type = 'Income'), 0) as income,
          coalesce(sum(amount) filter (where type = 'Expense'), 0) as expenses,
          coalesce(sum(case type when 'Income' then amount when 'Expense' then -amount end), 0) as net, ${currency}
        from transactions where date is not null group by 1 order by 1`,
    },
    expenses_by_category: {
      comment: 'Transactions of type Expense by month and category.',
      columns: {
        month: 'First day of the month.',
        category_id: 'The category, by its id at the source.',
        transactions: 'How many.',
        amount: 'Their total.',
        currency: CURRENCY,
      },
      query: `select date_trunc('month', date)::date as month, category_id, count(*) as transactions, sum(amount) as amount, ${currency}
        from transactions where type = 'Expense' and date is not null group by 1, 2 order by 1, 4 desc`,
    },
    customer_balance: {
      comment: 'What each customer was billed, has paid and owes.',
      columns: {
        ...CUSTOMER,
        invoices: 'How many.',
        billed: 'Their total.',
        paid: 'The total of those that are Paid.',
        open: 'The total of those that are Unpaid or Partially Paid.',
        overdue: 'The part of open whose due date has passed.',
        currency: CURRENCY,
      },
      query: `select c.id as customer_id, c.account as customer, count(i.id) as invoices, coalesce(sum(i.amount), 0) as billed,
          coalesce(sum(i.amount) filter (where i.status = 'Paid'), 0) as paid,
          coalesce(sum(i.amount) filter (where i.status in ('Unpaid', 'Partially Paid')), 0) as open,
          coalesce(sum(i.amount) filter (where i.status in ('Unpaid', 'Partially Paid') and i.due_date < current_date), 0) as overdue,
          ${currency}
        from customers c left join invoices i on i.customer_id = c.id group by c.id order by open desc, c.id`,
    },
    customer_value: {
      comment: 'What each customer has paid so far, and how fast.',
      columns: {
        ...CUSTOMER,
        lifetime_value: 'The total of the paid invoices.',
        paid_invoices: 'How many.',
        first_invoice: 'Date of the first invoice.',
        last_invoice: 'Date of the last invoice.',
        days_to_pay:
          'Average days from the date of an invoice until it was seen paid; only for invoices that were paid while HISTORY_INVOICES was on.',
        currency: CURRENCY,
      },
      query: `select c.id as customer_id, c.account as customer,
          coalesce(sum(i.amount) filter (where i.status = 'Paid'), 0) as lifetime_value,
          count(*) filter (where i.status = 'Paid') as paid_invoices,
          min(i.date) as first_invoice, max(i.date) as last_invoice,
          round(avg(p.paid_on - i.date) filter (where i.status = 'Paid'), 1) as days_to_pay, ${currency}
        from customers c left join invoices i on i.customer_id = c.id
        left join (select key, max(valid_to)::date as paid_on from row_history
          where resource = 'invoices' and ended_by = 'changed' and row->>'status' <> 'Paid' group by key) p on p.key = i.id::text
        group by c.id order by lifetime_value desc, c.id`,
    },
    quote_conversion: {
      comment:
        'Quotes by the month in which they expire, and how many became invoices: the customer has an invoice with the same items. The API itself does not link them.',
      columns: {
        month: 'First day of the month in which the quotes expire.',
        quotes: 'How many.',
        converted: 'Those that became invoices.',
        conversion: 'The share of those, from 0 to 1.',
      },
      query: `with quoted as (
          select q._key, q.customer_id, q.valid_until, array_agg(row(l.description, l.amount, l.qty)::text order by l.description, l.amount, l.qty) as items
          from quotes q left join quote_items l on l.quote_key = q._key group by q._key
        ), billed as (
          select distinct i.customer_id, array_agg(row(l.description, l.amount, l.qty)::text order by l.description, l.amount, l.qty) as items
          from invoices i join invoice_items l on l.invoice_id = i.id
          where i.customer_id in (select customer_id from quotes) group by i.id
        )
        select date_trunc('month', q.valid_until)::date as month, count(*) as quotes, count(b.customer_id) as converted,
          round(count(b.customer_id)::numeric / count(*), 2) as conversion
        from quoted q left join billed b on b.customer_id = q.customer_id and b.items = q.items
        group by 1 order by 1`,
    },
    ticket_load: {
      comment: 'Tickets by department, priority and status.',
      columns: {
        department_id: 'The department, by its id at the source.',
        priority: 'As the source calls it.',
        status: 'Such as Open, Pending or Closed.',
        tickets: 'How many.',
        customers: 'How many customers they are of.',
      },
      query: `select department_id, priority, status, count(*) as tickets, count(distinct customer_id) as customers
        from tickets group by 1, 2, 3 order by 4 desc, 1, 2, 3`,
    },
    freshness: {
      comment: 'As of when each list is proven equal to the source.',
      columns: {
        resource: 'The list.',
        complete: 'Whether all of it has been read.',
        equal_as_of: 'The oldest proof among its slices; null as long as it is not complete.',
        age: 'How long ago that was.',
        missing: 'Rows that the source no longer shows and whose deletion is not proven yet.',
        quarantined: 'Records that could not be stored.',
      },
      query: `select c.resource, c.complete, case when c.complete then c.as_of end as equal_as_of,
          case when c.complete then sluice.now() - c.as_of end as age,
          (select count(*) from sluice.missing m where m.source = c.source and m.resource = c.resource) as missing,
          (select count(*) from sluice.quarantine q where q.source = c.source and q.resource = c.resource and q.resolved_at is null) as quarantined
        from sluice.complete('-infinity', 'infinity') c
        where c.source in (select source from sluice.sources where schema = ${schema}) order by c.resource`,
    },
  };
}

export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select quote_literal(current_schema()) as schema`.execute(db);
  for (const [name, { comment, columns, query }] of Object.entries(viewsOf(rows[0]?.schema ?? ''))) {
    await sql`create or replace view ${sql.id(name)} as ${sql.raw(query)}`.execute(db);
    await sql`comment on view ${sql.id(name)} is ${sql.lit(comment)}`.execute(db);
    for (const [column, text] of Object.entries(columns))
      await sql`comment on column ${sql.id(name, column)} is ${sql.lit(text)}`.execute(db);
  }
}
