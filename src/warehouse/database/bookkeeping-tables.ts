import type { ColumnType, GeneratedAlways, SelectType } from 'kysely';

/** How the types of the bookkeeping arrive, and what may be written to them; see `TYPES` in pool.ts. */
interface PostgresTypes {
  text: { arrives: string; takes: string };
  integer: { arrives: number; takes: number };
  /** Arrives as text: JavaScript would round it. */
  bigint: { arrives: string; takes: string | number };
  'double precision': { arrives: number; takes: number };
  boolean: { arrives: boolean; takes: boolean };
  /** Days and moments arrive as Postgres writes them. */
  date: { arrives: string; takes: string };
  'timestamp with time zone': { arrives: string; takes: string };
  /** Sent as text: the driver would write an array as one of Postgres. */
  jsonb: { arrives: unknown; takes: string };
  'text[]': { arrives: string[]; takes: readonly string[] };
}

/**
 * The tables of the schema `sluice` as the migrations leave them. A column is its type (`text in a|b` where a constraint names the
 * words), then `null` where it may be null, `default` where an insert may omit it, `identity` where only Postgres sets it.
 */
export const BOOKKEEPING_TABLES = {
  'sluice.answers': {
    source: 'text',
    resource: 'text',
    query: 'text',
    rows_before: 'integer',
    page: 'integer',
    rows_asked: 'integer',
    digest: 'text',
    fields: 'text',
    keys: 'text',
    checksum: 'text',
    kept_at: 'timestamp with time zone default',
  },
  'sluice.budgets': {
    key: 'text',
    blocked_until: 'timestamp with time zone null',
    withheld: 'integer default',
    withheld_until: 'timestamp with time zone null',
    server_limit: 'integer null',
    server_limit_until: 'timestamp with time zone null',
    rate_limit: 'integer null',
    rate_limit_until: 'timestamp with time zone null',
    paced_at: 'timestamp with time zone null',
    version: 'bigint default',
    server_window_ms: 'double precision null',
    reserve: 'integer null',
    reserve_until: 'timestamp with time zone null',
  },
  'sluice.change_numbers': { schema: 'text', last: 'bigint', first: 'bigint default' },
  'sluice.coverage': {
    source: 'text',
    resource: 'text',
    slice: 'text',
    date_from: 'date null',
    date_to: 'date null',
    id_from: 'bigint null',
    id_to: 'bigint null',
    proven_at: 'timestamp with time zone null',
    read_at: 'timestamp with time zone null',
    requests: 'integer default',
    rows: 'bigint null',
    changed: 'double precision default',
    hours_watched: 'double precision default',
    due_since: 'timestamp with time zone null',
    due_reason: 'text null',
  },
  'sluice.cursors': {
    source: 'text',
    resource: 'text',
    version: 'bigint default',
    readings: 'jsonb default',
    position: 'text null',
    committed_at: 'timestamp with time zone null',
    run_id: 'bigint null',
    logs_since: 'timestamp with time zone null',
  },
  'sluice.declared_fields': {
    schema: 'text',
    table_name: 'text',
    field: 'text',
    type: 'text',
    child_table: 'text null',
    parent: 'text null',
    declared_at: 'timestamp with time zone default',
  },
  'sluice.deliveries': {
    source: 'text',
    name: 'text',
    next: 'bigint',
    sending_to: 'bigint null',
    attempts: 'integer default',
    failing_since: 'timestamp with time zone null',
    retry_at: 'timestamp with time zone null',
    paused_at: 'timestamp with time zone null',
    reason: 'text null',
    last_delivered_at: 'timestamp with time zone null',
    locked_until: 'timestamp with time zone null',
  },
  'sluice.masks': {
    schema: 'text',
    resource: 'text',
    field: 'text',
    rule: 'text in never|hash',
    key_mark: 'text null',
    counts: 'jsonb',
    masked_at: 'timestamp with time zone',
  },
  'sluice.erasures': {
    id: 'bigint identity',
    source: 'text',
    resource: 'text',
    key_hash: 'text',
    counts: 'jsonb',
    erased_at: 'timestamp with time zone',
    erased_by: 'text',
  },
  'sluice.held': { source: 'text', resource: 'text', field: 'text', key: 'text', since: 'timestamp with time zone' },
  'sluice.hints': { source: 'text', resource: 'text', slice: 'text', since: 'timestamp with time zone' },
  'sluice.incidents': {
    id: 'bigint identity',
    source: 'text',
    resource: 'text null',
    kind: 'text in failed|fuse|rewrite|restored|restated|undelivered|unauthorized|unavailable|outdated|drift',
    message: 'text',
    next: 'text null',
    opened_at: 'timestamp with time zone',
    ended_at: 'timestamp with time zone null',
    told_at: 'timestamp with time zone null',
    told_end_at: 'timestamp with time zone null',
    attempts: 'integer default',
    retry_at: 'timestamp with time zone null',
  },
  'sluice.losses': {
    source: 'text',
    resource: 'text',
    field: 'text',
    rows: 'bigint',
    run_id: 'bigint null',
    at: 'timestamp with time zone',
  },
  'sluice.missing': {
    source: 'text',
    resource: 'text',
    key: 'text',
    slice: 'text',
    since: 'timestamp with time zone',
    readings: 'integer default',
    half: 'boolean default',
    unreadable: 'boolean default',
    lacked_at: 'timestamp with time zone default',
    shown_at: 'timestamp with time zone null',
    proven_before: 'timestamp with time zone null',
  },
  'sluice.orders': {
    id: 'bigint identity',
    source: 'text',
    resource: 'text',
    kind: 'text in sync|backfill|verify|refresh',
    date_from: 'date null',
    date_to: 'date null',
    repair: 'boolean default',
    whole: 'boolean default',
    accept_deletes: 'bigint default',
    accept_losses: 'text[] default',
    counted: 'bigint null',
    counted_at: 'timestamp with time zone null',
    targets: 'text[] default',
    left_due: 'boolean default',
    state: 'text in waiting|running|paused|done|failed|cancelled default',
    reason: 'text null',
    deleted: 'bigint default',
    requests: 'bigint default',
    report: 'jsonb null',
    created_at: 'timestamp with time zone',
    ended_at: 'timestamp with time zone null',
  },
  'sluice.push_items': {
    id: 'bigint identity',
    source: 'text',
    resource: 'text',
    hash: 'text',
    ordinal: 'integer',
    push_id: 'bigint',
    line: 'integer',
    body: 'jsonb',
    state: 'text in planned|sent|created|refused|unknown default',
    message: 'text null',
    sent_at: 'timestamp with time zone null',
    answered_at: 'timestamp with time zone null',
    quiet_at: 'timestamp with time zone null',
    last_id: 'bigint null',
    last_at: 'timestamp with time zone null',
    source_id: 'text null',
    row_key: 'text null',

    found_at: 'timestamp with time zone null',
  },
  'sluice.pushes': {
    id: 'bigint identity',
    source: 'text',
    resource: 'text',
    file: 'text',
    lines: 'integer',
    state: 'text in running|done|failed|stopped default',
    reason: 'text null',
    requests: 'integer default',
    started_at: 'timestamp with time zone',
    ended_at: 'timestamp with time zone null',
  },
  'sluice.quarantine': {
    source: 'text',
    resource: 'text',
    key: 'text',
    payload: 'text',
    reasons: 'jsonb',
    slice: 'text',
    first_seen: 'timestamp with time zone',
    last_seen: 'timestamp with time zone',
    attempts: 'integer default',
    resolved_at: 'timestamp with time zone null',
  },
  'sluice.receivers': { source: 'text', secret: 'text', made_at: 'timestamp with time zone', previous: 'text null' },
  'sluice.requests': {
    id: 'bigint identity',
    key: 'text',
    source: 'text',
    lane: 'text in live|backfill|verify',
    purpose: 'text null',
    run_id: 'bigint null',
    granted_at: 'timestamp with time zone',
    counts_until: 'timestamp with time zone',
    settled_at: 'timestamp with time zone null',
    status: 'integer null',
  },
  'sluice.requests_by_minute': {
    source: 'text',
    minute: 'timestamp with time zone',
    lane: 'text',
    purpose: 'text',
    status: 'integer',
    requests: 'integer',
  },
  'sluice.rewrites': {
    id: 'bigint identity',
    source: 'text',
    resource: 'text',
    field: 'text',
    run_id: 'bigint null',
    run_ids: 'text[]',
    since: 'timestamp with time zone',
    at: 'timestamp with time zone',
    rows: 'integer',
    stored: 'integer',
    looks: 'text null',
    examples: 'jsonb',
    ended_at: 'timestamp with time zone null',
    ended_by: 'text in accepted|undone|reverted null',
  },
  'sluice.row_windows': {
    source: 'text',
    resource: 'text',
    key: 'text',
    date_from: 'date',
    date_to: 'date',
    seen_at: 'timestamp with time zone',
  },
  'sluice.runs': {
    id: 'bigint identity',
    source: 'text',
    resource: 'text',
    kind: 'text',
    order_id: 'bigint null',
    slot_at: 'timestamp with time zone null',
    state: 'text in running|waiting|done|failed|stopped default',
    reason: 'text null',
    next: 'text null',
    waiting_until: 'timestamp with time zone null',
    started_at: 'timestamp with time zone',
    ended_at: 'timestamp with time zone null',
    requests: 'bigint default',
    slices: 'bigint default',
    rows_read: 'bigint default',
    inserted: 'bigint default',
    updated: 'bigint default',
    unchanged: 'bigint default',
    revived: 'bigint default',
    missing: 'bigint default',
    deleted: 'bigint default',
    quarantined: 'bigint default',
    replaced: 'bigint default',
    failure: 'text null',
  },
  'sluice.seals': {
    id: 'bigint identity',
    source: 'text',
    month: 'text',
    sealed_at: 'timestamp with time zone',
    digest: 'text',
    replaced_at: 'timestamp with time zone null',
  },
  'sluice.sealed_lists': {
    seal_id: 'bigint',
    resource: 'text',
    schema: 'text',
    date_field: 'text',
    children: 'jsonb',
    rows: 'integer',
    sums: 'jsonb',
    digest: 'text',
  },
  'sluice.sealed_rows': { seal_id: 'bigint', resource: 'text', key: 'text', row: 'jsonb null', hash: 'text' },
  'sluice.seen_keys': { source: 'text', resource: 'text', slice: 'text', at: 'integer', keys: 'jsonb' },
  'sluice.slots': {
    source: 'text',
    resource: 'text',
    slot_at: 'timestamp with time zone',
    recorded_at: 'timestamp with time zone',
    run_id: 'bigint null',
  },
  'sluice.sources': {
    source: 'text',
    address: 'text',
    since: 'timestamp with time zone',
    schema: 'text null',
    currency: 'text null',
  },
  'sluice.traits': {
    source: 'text',
    resource: 'text',
    trait: 'text',
    value: 'text',
    evidence: 'text',
    learned_at: 'timestamp with time zone',
  },
  'sluice.webhooks': { source: 'text', url: 'text', events: 'text[]', registered_at: 'timestamp with time zone' },
} as const satisfies Record<string, Record<string, Declared>>;

type TypeName = keyof PostgresTypes;
type Declared = `${TypeName | `text in ${string}`}${'' | ' null' | ' default' | ' identity'}`;

type Words<List> = List extends `${infer First}|${infer Rest}` ? First | Words<Rest> : List;
type Arrives<D> = D extends TypeName
  ? PostgresTypes[D]['arrives']
  : D extends `text in ${infer List}`
    ? Words<List>
    : never;
type Takes<D> = D extends TypeName ? PostgresTypes[D]['takes'] : Arrives<D>;

type ColumnOf<D> = D extends `${infer Type} null`
  ? ColumnType<Arrives<Type> | null, Takes<Type> | null | undefined, Takes<Type> | null>
  : D extends `${infer Type} default`
    ? ColumnType<Arrives<Type>, Takes<Type> | undefined, Takes<Type>>
    : D extends `${infer Type} identity`
      ? GeneratedAlways<Arrives<Type>>
      : ColumnType<Arrives<D>, Takes<D>, Takes<D>>;

/** The words that a column declared as `text in a|b` may hold, in that order. */
export const wordsOf = <D extends `text in ${string}`>(declared: D) =>
  (declared.split(' ')[2] ?? '').split('|') as unknown as readonly SelectType<ColumnOf<D>>[];

/** The same for the query builder. */
export type SluiceTables = {
  [Table in keyof typeof BOOKKEEPING_TABLES]: {
    [Column in keyof (typeof BOOKKEEPING_TABLES)[Table]]: ColumnOf<(typeof BOOKKEEPING_TABLES)[Table][Column]>;
  };
};
