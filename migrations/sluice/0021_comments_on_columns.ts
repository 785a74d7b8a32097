import { type Kysely, sql } from 'kysely';

/** What `\d+` and the console show beside each column of the bookkeeping. */
const COLUMNS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  sources: {
    address: 'Host (and port and path) of its address.',
    since: 'When it was first read from that address.',
    schema: 'The schema that holds its rows.',
  },
  coverage: {
    date_from: 'First day of a date slice; -infinity for an open end.',
    date_to: 'Last day of a date slice; infinity for an open end.',
    id_from: 'First id of an id slice; null for an open end.',
    id_to: 'Last id of an id slice; null for an open end.',
    proven_at: "The warehouse's slice equalled the source's at this moment; null: never read in full.",
    read_at: 'The last reading of any kind.',
    requests: 'Requests that the last reading took.',
    rows: 'Number of rows.',
    changed: 'Rows found new, different or missing when it was read again; loses half its weight in four weeks.',
    hours_watched: 'Over how many hours; loses half its weight in four weeks.',
    due_since: 'From when on it is due before its turn.',
    due_reason: 'Why it is due before its turn.',
  },
  row_windows: {
    date_from: 'First of the requested days; -infinity for an open end.',
    date_to: 'Last of the requested days; infinity for an open end.',
    seen_at: 'When the request that returned it was granted.',
  },
  missing: {
    slice: 'The first slice that lacked it.',
    since: 'When the reading that lacked it first had ended.',
    readings: 'How many readings lacked it.',
    half: 'The reading that lacked it first lacked at least half of its slice.',
    unreadable: 'A record that could not be read appeared when it went missing: that record may be this row.',
    lacked_at: 'When the last of these readings had ended.',
  },
  quarantine: {
    key: 'The key of the record; if it cannot be read, ? and a hash of the record.',
    payload: 'The record as JSON.',
    reasons: 'An object from field to what is wrong with it.',
    slice: 'The slice in which it was found.',
    first_seen: 'When it was first read.',
    last_seen: 'When it was last read.',
    attempts: 'How often it was read.',
    resolved_at: 'When it could be stored; null while it cannot.',
  },
  orders: {
    id: 'Number of the order, as sluice backfill list shows it.',
    resource: 'The list; null for all.',
    kind: 'sync, backfill or verify.',
    date_from: 'First day of a backfill; null for an open end.',
    date_to: 'Last day of a backfill; null for an open end.',
    repair: 'Whether a verification repairs what differs.',
    whole: 'Whether a sync reads everything (sync --full).',
    accept_deletes: 'Number of rows for which the deletion limit is overridden.',
    state: 'waiting, running, paused, done, failed or cancelled.',
    reason: 'Why it ended this way or, while it waits, why it is tried again.',
    deleted: 'Rows deleted for it so far.',
    requests: 'Requests spent for it so far.',
    report: 'What a verification found.',
    created_at: 'When it was placed.',
    ended_at: 'When it ended.',
  },
  slots: {
    slot_at: 'The moment that the schedule names.',
    recorded_at: 'When it was recorded.',
    run_id: 'The run that took it; null while none has.',
  },
  runs: {
    id: 'Number of the run.',
    kind: 'sync, slot, hint, backfill or verify.',
    order_id: 'The order that it was for: orders.id.',
    slot_at: 'The tick that it was for: slots.slot_at.',
    state: 'running, waiting (for the request limit, unless reason says for what else), done, failed or stopped.',
    reason: 'Why it ended this way.',
    next: 'What to do about it.',
    failure: 'Kind of failure, such as unavailable, fuse (the deletion limit) or abandoned.',
    waiting_until: 'When it continues.',
    started_at: 'When it began.',
    ended_at: 'When it ended; null while it goes on.',
    requests: 'Requests used.',
    slices: 'Slices finished.',
    rows_read: 'Records received.',
    inserted: 'Rows that were new.',
    updated: 'Rows that were different.',
    unchanged: 'Rows that were equal.',
    revived: 'Those of the new rows that had been deleted.',
    missing: 'Rows that were stored and not shown.',
    deleted: 'Rows proven deleted.',
    quarantined: 'Records that could not be stored.',
    replaced: "Rows received with bytes that are invalid in the answer's encoding.",
  },
  incidents: {
    id: 'Number of the incident.',
    resource: 'The list that it concerns; null for the source as a whole.',
    kind: 'failed, fuse (the deletion limit), unauthorized (the key), unavailable (the source) or outdated.',
    message: 'What happened.',
    next: 'What to do about it.',
    opened_at: 'When it began.',
    ended_at: 'When it ended; null while it lasts.',
    told_at: 'When the alert about its beginning was delivered.',
    told_end_at: 'When the alert about its end was delivered.',
    attempts: 'Attempts to deliver the alert.',
    retry_at: 'When the next attempt is due.',
  },
  hints: {
    slice: 'The slice; one 17 is the row with that key, in whatever slice it is.',
    since: 'When the first webhook that hinted at it arrived.',
  },
  receivers: {
    secret: 'Created once, at random; anyone who knows it can make Sluice read a little earlier.',
    made_at: 'When it was created.',
  },
  webhooks: {
    url: 'The address of the service, without the secret.',
    events: 'The events registered.',
    registered_at: 'When it was registered.',
  },
  pushes: {
    id: 'Number of the push.',
    file: 'Name of the file.',
    lines: 'Number of records in it.',
    state: 'running, done, failed or stopped.',
    reason: 'Why it ended before every line was sent.',
    requests: 'Requests sent to create something.',
    started_at: 'When it began.',
    ended_at: 'When it ended.',
  },
  push_items: {
    id: 'Number of the record.',
    hash: "A hash of the line's content.",
    ordinal: 'Tells equal lines of one file apart.',
    push_id: 'The last push whose file contained it: pushes.id.',
    line: 'Its line in that file.',
    body: 'What was or will be sent; {} once it is not kept any more (RETENTION_PUSHES_DAYS, sluice forget).',
    state: 'planned, sent (no answer yet), created, refused or unknown.',
    message: 'Why it was refused, or why the outcome is unknown.',
    sent_at: 'When the last request with it was about to be sent.',
    answered_at: 'When its answer had arrived.',
    quiet_at: 'After this time the source is assumed not to carry out that request any more.',
    last_id: 'The highest id in the warehouse before; rows above it are newer.',
    last_at: 'When the newest row was stored before; rows without an id that were stored later are newer.',
    source_id: 'The id that the answer named.',
    row_key: 'The key of its row in the warehouse; null until it is seen.',
    found_at: 'When its row was first seen.',
  },
  erasures: {
    id: 'Number of the receipt.',
    key_hash: 'SHA-256 of the source, the resource and the key, with one blank between them.',
    counts: 'An object from table to the number of rows that were erased or emptied.',
    erased_at: 'When it was erased.',
    erased_by: 'The user and the machine that ran the command.',
  },
  requests: {
    id: 'Number of the request.',
    key: 'A hash of the API key.',
    lane: 'live, backfill or verify.',
    purpose: 'What it was for: the list and the slice.',
    run_id: 'The run it was for.',
    granted_at: 'When it was permitted.',
    counts_until: 'Until when it counts against the limit.',
    settled_at: 'When the response was complete.',
    status: 'HTTP status of the response.',
  },
  requests_by_minute: {
    minute: 'The minute in which they were granted.',
    lane: 'live, backfill or verify.',
    purpose: 'What they were for, without the slice: invoices; lost if no process told.',
    status: 'The HTTP status; 0 where no complete response came.',
    requests: 'How many.',
  },
  budgets: {
    key: 'A hash of the API key.',
    blocked_until: 'After a refusal, no process sends a request before this time.',
    withheld: 'Requests that the source counts and Sluice did not send.',
    withheld_until: 'Until when this is assumed.',
    server_limit: "The source's own limit, while it is smaller than the configured one.",
    server_limit_until: 'Until when this is assumed.',
    rate_limit: 'The smallest limit that a process was recently started with.',
    rate_limit_until: 'Until when it holds.',
    paced_at: 'The last request on a lane below live.',
    version: 'How often requests were granted; one who was overtaken by another counts anew.',
  },
  traits: {
    resource: 'The list, or (source) for the source as a whole.',
    trait: 'What was observed, such as page size.',
    value: 'What it was found to be.',
    evidence: 'The observation that showed it, in words.',
    learned_at: 'When it was observed.',
  },
  cursors: {
    version: 'Changes with every commit; a process that finds a version other than its own writes nothing.',
    readings: 'The slices being read: next page, keys seen, start time.',
    position: 'The slices of the last commit, as text.',
    committed_at: 'When it was last committed.',
    run_id: 'The run of the last commit: runs.id.',
  },
};

/** Columns that mean the same wherever the list above is silent. */
const COMMON: Readonly<Record<string, string>> = {
  source: 'The source, by its name in sources.json; main without that file.',
  resource: 'The list, such as invoices.',
  slice: 'The slice as text, such as date 2025-01-01..2025-12-31.',
  key: 'The key of the row, as text.',
};

/** Tables that 0020 left out. */
const TABLES: Readonly<Record<string, string>> = {
  requests: 'Requests of the last day: the ledger that keeps each rolling window within the limit.',
  requests_by_minute: 'Older requests, counted by minute and purpose.',
  budgets: 'What the source last reported about its limit, one row for each API key.',
};

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const [table, text] of Object.entries(TABLES))
    await sql`comment on table ${sql.id('sluice', table)} is ${sql.lit(text)}`.execute(db);
  const { rows } = await sql<{ table: string; column: string }>`
    select c.relname as table, a.attname as column from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'sluice'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped`.execute(
    db,
  );
  for (const { table, column } of rows) {
    const text = COLUMNS[table]?.[column] ?? COMMON[column];
    if (text !== undefined)
      await sql`comment on column ${sql.id('sluice', table, column)} is ${sql.lit(text)}`.execute(db);
  }
}
