import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;

  await schema
    .createTable('customers')
    .addColumn('id', 'bigint', column => column.primaryKey())
    .addColumn('account', 'text')
    .addColumn('email', 'text')
    .addColumn('phone', 'text')
    .addColumn('address', 'text')
    .addColumn('city', 'text')
    .addColumn('state', 'text')
    .addColumn('zip', 'text')
    .addColumn('country', 'text')
    .addColumn('created_at', 'timestamptz')
    .addColumn('updated_at', 'timestamptz')
    .addColumn('_extra', 'jsonb')
    .addColumn('_synced_at', 'timestamptz', column => column.notNull())
    .addColumn('_read_at', 'timestamptz', column => column.notNull())
    .execute();
  await schema.createIndex('customers_email').on('customers').column('email').execute();
  await schema.createIndex('customers_synced').on('customers').column('_synced_at').execute();

  await schema
    .createTable('invoices')
    .addColumn('id', 'bigint', column => column.primaryKey())
    .addColumn('invoice_number', 'text')
    .addColumn('customer_id', 'bigint')
    .addColumn('date', 'date')
    .addColumn('due_date', 'date')
    .addColumn('amount', 'numeric')
    .addColumn('status', 'text')
    .addColumn('notes', 'text')
    .addColumn('_hash', 'bytea')
    .addColumn('_extra', 'jsonb')
    .addColumn('_synced_at', 'timestamptz', column => column.notNull())
    .addColumn('_read_at', 'timestamptz', column => column.notNull())
    .execute();
  await schema.createIndex('invoices_customer').on('invoices').column('customer_id').execute();
  await schema.createIndex('invoices_date').on('invoices').column('date').execute();
  await schema.createIndex('invoices_status').on('invoices').column('status').execute();
  await schema.createIndex('invoices_synced').on('invoices').column('_synced_at').execute();

  await schema
    .createTable('invoice_items')
    .addColumn('invoice_id', 'bigint', column => column.notNull())
    .addColumn('line', 'integer', column => column.notNull())
    .addColumn('description', 'text')
    .addColumn('amount', 'numeric')
    .addColumn('qty', 'numeric')
    .addColumn('_extra', 'jsonb')
    .addPrimaryKeyConstraint('invoice_items_pkey', ['invoice_id', 'line'])
    .execute();

  await schema
    .createTable('transactions')
    .addColumn('_key', 'text', column => column.primaryKey())
    .addColumn('id', 'bigint')
    .addColumn('type', 'text')
    .addColumn('account_id', 'bigint')
    .addColumn('category_id', 'bigint')
    .addColumn('amount', 'numeric')
    .addColumn('description', 'text')
    .addColumn('date', 'date')
    .addColumn('_extra', 'jsonb')
    .addColumn('_synced_at', 'timestamptz', column => column.notNull())
    .addColumn('_read_at', 'timestamptz', column => column.notNull())
    .execute();
  await schema.createIndex('transactions_id').on('transactions').column('id').execute();
  await schema.createIndex('transactions_date').on('transactions').column('date').execute();
  await schema.createIndex('transactions_account').on('transactions').columns(['account_id', 'date']).execute();
  await schema.createIndex('transactions_category').on('transactions').column('category_id').execute();
  await schema.createIndex('transactions_synced').on('transactions').column('_synced_at').execute();

  await schema
    .createTable('row_history')
    .addColumn('resource', 'text', column => column.notNull())
    .addColumn('key', 'text', column => column.notNull())
    .addColumn('row', 'jsonb', column => column.notNull())
    .addColumn('valid_from', 'timestamptz', column => column.notNull())
    .addColumn('valid_to', 'timestamptz', column => column.notNull())
    .addColumn('ended_by', 'text', column => column.notNull().check(sql`ended_by in ('deleted', 'changed')`))
    .addColumn('run_id', 'bigint')
    .execute();
  await schema.createIndex('row_history_key').on('row_history').columns(['resource', 'key']).execute();
  await schema.createIndex('row_history_deleted').on('row_history').columns(['resource', 'valid_to']).execute();
}
