import { type Kysely, sql } from 'kysely';
import { createIsSame } from '../create-is-same.ts';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table if not exists sluice.declared_fields (
    schema text not null,
    table_name text not null,
    field text not null,
    type text not null,
    child_table text,
    parent text,
    primary key (schema, table_name, field))`.execute(db);
  // Closed months: a field that becomes a column is no change. Its column tells the number, or the moment, and not how it was written.
  await createIsSame(db);
  const comments = {
    'table sluice.declared_fields':
      'Columns and child tables that files in lists/ declare, so that they can be put back into _extra.',
    'column sluice.declared_fields.schema': 'Schema of the table.',
    'column sluice.declared_fields.table_name': 'Table.',
    'column sluice.declared_fields.field': 'Field, and its column.',
    'column sluice.declared_fields.type': 'Type of the column; list for a table of child rows.',
    'column sluice.declared_fields.child_table': 'Table of the child rows.',
    'column sluice.declared_fields.parent': 'Its column that names the row they belong to.',
  };
  for (const [what, text] of Object.entries(comments))
    await sql`comment on ${sql.raw(what)} is ${sql.lit(text)}`.execute(db);
}
