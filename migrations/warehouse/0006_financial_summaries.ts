import type { Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;

  await schema
    .createTable('financial_summaries')
    .addColumn('period', 'text', column => column.primaryKey())
    .addColumn('year', 'integer')
    .addColumn('month', 'integer')
    .addColumn('income', 'numeric')
    .addColumn('expenses', 'numeric')
    .addColumn('profit', 'numeric')
    .addColumn('outstanding_invoices', 'numeric')
    .addColumn('_extra', 'jsonb')
    .addColumn('_synced_at', 'timestamptz', column => column.notNull())
    .addColumn('_read_at', 'timestamptz', column => column.notNull())
    .execute();
  await schema
    .createIndex('financial_summaries_month')
    .unique()
    .on('financial_summaries')
    .columns(['year', 'month'])
    .execute();
  await schema.createIndex('financial_summaries_synced').on('financial_summaries').column('_synced_at').execute();
}
