import type { Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;

  await schema
    .createTable('orders')
    .addColumn('_key', 'text', column => column.primaryKey())
    .addColumn('id', 'bigint')
    .addColumn('record', 'jsonb')
    .addColumn('_extra', 'jsonb')
    .addColumn('_synced_at', 'timestamptz', column => column.notNull())
    .addColumn('_read_at', 'timestamptz', column => column.notNull())
    .execute();
  await schema.createIndex('orders_id').on('orders').column('id').execute();
  await schema.createIndex('orders_synced').on('orders').column('_synced_at').execute();
}
