import type { Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;

  await schema
    .createTable('tickets')
    .addColumn('_key', 'text', column => column.primaryKey())
    .addColumn('id', 'bigint')
    .addColumn('customer_id', 'bigint')
    .addColumn('subject', 'text')
    .addColumn('message', 'text')
    .addColumn('department_id', 'bigint')
    .addColumn('priority', 'text')
    .addColumn('status', 'text')
    .addColumn('_extra', 'jsonb')
    .addColumn('_synced_at', 'timestamptz', column => column.notNull())
    .addColumn('_read_at', 'timestamptz', column => column.notNull())
    .execute();
  await schema.createIndex('tickets_id').on('tickets').column('id').execute();
  await schema.createIndex('tickets_customer').on('tickets').column('customer_id').execute();
  await schema.createIndex('tickets_status').on('tickets').column('status').execute();
  await schema.createIndex('tickets_synced').on('tickets').column('_synced_at').execute();
}
