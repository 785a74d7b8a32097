import { type Kysely, sql } from 'kysely';

/** What `\dt+ sluice.*` and the console show beside each table of the bookkeeping; docs/tables.md tells of the columns. */
const TABLES: Readonly<Record<string, string>> = {
  sources: 'Where each source is read from, and into which schema.',
  coverage: 'The slices of each list: as of when each is proven equal, what it costs to read and how often it changes.',
  row_windows: 'Of rows that do not show their date: the narrowest requested window that returned each.',
  whole_keys: 'Keys seen so far by a reading of a whole list.',
  missing: 'Rows that their slice no longer shows and whose deletion is not proven yet; they are still in their table.',
  quarantine: 'Records that could not be stored, as they came, with the reasons.',
  orders: 'Work that people requested: syncs, backfills, verifications.',
  slots: 'Ticks of the schedule, each recorded once.',
  runs: 'Attempts at an order or a slot, with the outcome of each.',
  incidents: 'Problems that people are alerted to.',
  hints: 'Slices that webhooks hinted at and that were not read yet.',
  receivers: 'The secret addresses at which webhooks arrive.',
  webhooks: 'The webhooks that were registered at the source.',
  pushes: 'Files that were pushed, one row for each time.',
  push_items: 'Pushed records: what was sent and what came back.',
  erasures: 'Receipts of erased records; they hold nothing of the record but a hash of its key.',
  traits: 'What was observed about each list, such as its order and its page size.',
  cursors: 'How far the reading of each resource has come; written together with its rows.',
};

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const [table, text] of Object.entries(TABLES))
    await sql`comment on table ${sql.id('sluice', table)} is ${sql.lit(text)}`.execute(db);
}
