import type { Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;

  await schema
    .createTable('quotes')
    .addColumn('_key', 'text', column => column.primaryKey())
    .addColumn('id', 'bigint')
    .addColumn('customer_id', 'bigint')
    .addColumn('valid_until', 'date')
    .addColumn('_hash', 'bytea')
    .addColumn('_extra', 'jsonb')
    .addColumn('_synced_at', 'timestamptz', column => column.notNull())
    .addColumn('_read_at', 'timestamptz', column => column.notNull())
    .execute();
  await schema.createIndex('quotes_id').on('quotes').column('id').execute();
  await schema.createIndex('quotes_customer').on('quotes').column('customer_id').execute();
  await schema.createIndex('quotes_synced').on('quotes').column('_synced_at').execute();

  await schema
    .createTable('quote_items')
    .addColumn('quote_key', 'text', column => column.notNull())
    .addColumn('line', 'integer', column => column.notNull())
    .addColumn('description', 'text')
    .addColumn('amount', 'numeric')
    .addColumn('qty', 'numeric')
    .addColumn('_extra', 'jsonb')
    .addPrimaryKeyConstraint('quote_items_pkey', ['quote_key', 'line'])
    .execute();
}
