import type { Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;

  await schema
    .createTable('users')
    .addColumn('_key', 'text', column => column.primaryKey())
    .addColumn('id', 'bigint')
    .addColumn('name', 'text')
    .addColumn('email', 'text')
    .addColumn('role', 'text')
    .addColumn('_extra', 'jsonb')
    .addColumn('_synced_at', 'timestamptz', column => column.notNull())
    .addColumn('_read_at', 'timestamptz', column => column.notNull())
    .execute();
  await schema.createIndex('users_id').on('users').column('id').execute();
  await schema.createIndex('users_synced').on('users').column('_synced_at').execute();
}
