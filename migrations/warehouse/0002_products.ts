import type { Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;

  await schema
    .createTable('products')
    .addColumn('_key', 'text', column => column.primaryKey())
    .addColumn('id', 'bigint')
    .addColumn('name', 'text')
    .addColumn('price', 'numeric')
    .addColumn('description', 'text')
    .addColumn('type', 'text')
    .addColumn('tax_rate', 'numeric')
    .addColumn('_extra', 'jsonb')
    .addColumn('_synced_at', 'timestamptz', column => column.notNull())
    .addColumn('_read_at', 'timestamptz', column => column.notNull())
    .execute();
  await schema.createIndex('products_id').on('products').column('id').execute();
  await schema.createIndex('products_synced').on('products').column('_synced_at').execute();
}
