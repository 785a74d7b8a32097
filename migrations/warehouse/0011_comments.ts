import { type Kysely, sql } from 'kysely';

/** What `\d+` and the console show beside the table of which no job tells. */
const HISTORY =
  'Rows that were deleted at the source and, where the job asks for it, earlier versions of changed rows.';
const COLUMNS: Readonly<Record<string, string>> = {
  resource: 'The list, such as invoices.',
  key: 'The key of the row, as text.',
  row: 'All its columns as JSON, with its child rows in a list.',
  valid_from: 'When this version was stored.',
  valid_to: 'When it was deleted or changed.',
  ended_by: 'deleted or changed.',
  run_id: 'The run that ended it: sluice.runs.',
};

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`comment on table row_history is ${sql.lit(HISTORY)}`.execute(db);
  for (const [column, text] of Object.entries(COLUMNS))
    await sql`comment on column ${sql.id('row_history', column)} is ${sql.lit(text)}`.execute(db);
}
