import type { Usage } from '../../budget/ledger/usage.ts';
import { isNamed } from '../../engine/agenda/plan.ts';
import { membersOf } from '../../engine/conclude/settle-missing.ts';
import { oldestOf, partition } from '../../engine/coverage/list.ts';
import type { Job } from '../../engine/job.ts';
import { declareTable } from '../../engine/records/declare-table.ts';
import { openResource, placeOf, type Resource } from '../../engine/resource.ts';
import type { Entry } from '../../engine/slices/coverage-entry.ts';
import { addDays, wholeTime } from '../../engine/slices/date-windows.ts';
import { type DateSlice, type Slice, sliceText } from '../../engine/slices/slice.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { lastRefreshes, type Refreshed } from '../../warehouse/ledgers/orders.ts';
import {
  type Condition,
  evaluate,
  explainQuery,
  type QueryPlan,
  type TableRead,
} from '../../warehouse/reports/explain-query.ts';
import { readEndedVersions, readStoredRow } from '../../warehouse/reports/stored-record.ts';
import { countHeld } from '../../warehouse/rows/held-values.ts';
import { countMissing } from '../../warehouse/rows/missing-rows.ts';
import { countBad } from '../../warehouse/rows/quarantine.ts';
import { both, sliceCondition } from '../../warehouse/rows/slice-condition.ts';
import { countEach } from '../../warehouse/rows/stored-rows.ts';
import { possibleKey } from '../../warehouse/rows/tables.ts';
import { refreshCost, valueFields } from '../orders/refresh.ts';
import { partsOfRow } from '../record/record-story.ts';
import type { ServedSource } from '../status/served-source.ts';

/** A source whose tables a query may read. */
export interface QuerySource extends Pick<ServedSource, 'name' | 'schema' | 'timeZone' | 'jobs' | 'rules'> {
  /** Null where its key is not set. */
  usage(): Promise<Usage | null>;
}

/** Where a query runs, and what it may read. */
export interface QueryPlace {
  readonly database: Database;
  /** Its login runs the query. */
  readonly reader: Database;
  readonly sources: readonly QuerySource[];
  readonly signal: AbortSignal;
}

export interface Query {
  readonly query: string;
  readonly schema: string;
  readonly timeoutMs: number;
}

/** A list of which a query reads something. */
export interface ListRead {
  readonly source: QuerySource;
  readonly resource: string;
  /** What it reads of it. */
  readonly targets: readonly Slice[];
  /** As of when that equals the source (epoch ms); null where it was never read in full, or `isOpen`. */
  readonly asOf: number | null;
  /** The source may hold more of it than it shows. */
  readonly isOpen: boolean;
  /** Rows of it, or parts that hold some, of which it is not proven yet whether they are gone. */
  readonly unsettled: number;
  /** Records of it in quarantine: they may be older than that, or lacking. */
  readonly quarantined: number;
  /** Rows of it with values that are kept although the source shows none. */
  readonly held: number;
  /** Requests that reading it again takes, as far as is known. */
  cost(): Promise<number>;
}

/** The lists on whose rows the answer to a query depends; null where that cannot be told. */
export async function listsRead(place: QueryPlace, query: Query): Promise<readonly ListRead[] | null> {
  const { database, reader, sources, signal } = place;
  const plan = await explainQuery(reader, { ...query, signal });
  if (plan === null) return null;
  const now = await databaseNow(database);
  const lists: ListRead[] = [];
  for (const source of sources) {
    for (const [name, reads] of readsOf(plan, source)) {
      const job = source.jobs.get(name) as Job;
      const resource = await openResource(database.kysely, { source: source.name, schema: source.schema, name, job });
      const targets = new Map<string, Slice>();
      for (const read of reads)
        for (const slice of await narrowest(place, query, source, resource, read, now))
          targets.set(sliceText(slice), slice);
      if (targets.size === 0) continue;
      const asked = targets.has(sliceText(wholeTime)) ? [wholeTime] : [...targets.values()];
      lists.push({ source, resource: name, ...(await ageOf(database, source, resource, asked, now)) });
    }
  }
  return lists;
}

/** The list of which earlier versions are read; undefined for all. */
const historyOf = ({ conditions }: TableRead): string | undefined =>
  /^'(\w+)' :: text$/.exec(conditions.find(({ column, is }) => column === 'resource' && is === '=')?.value ?? '')?.[1];

type ReadOfList = Pick<TableRead, 'table' | 'conditions'>;

/** What a plan reads of each list of a source; all of all lists where that cannot be seen. */
function readsOf({ reads, readsUnseen }: QueryPlan, { schema, jobs }: QuerySource): Map<string, ReadOfList[]> {
  const found = new Map<string, ReadOfList[]>();
  const add = (name: string, read: ReadOfList) => found.set(name, [...(found.get(name) ?? []), read]);
  const addAll = () => {
    for (const name of jobs.keys()) add(name, { table: name, conditions: [] });
  };
  const byTable = new Map(
    [...jobs].flatMap(([name, job]) =>
      [name, ...declareTable(name, job).children.map(child => child.name)].map(table => [table, name]),
    ),
  );
  for (const read of reads) {
    if (read.schema !== schema) continue;
    const past = read.table === 'row_history' ? historyOf(read) : undefined;
    const name = past ?? byTable.get(read.table);
    if (name === undefined || !jobs.has(name)) addAll();
    else add(name, past === undefined ? read : { table: past, conditions: [] });
  }
  if (readsUnseen) addAll();
  return found;
}

/** More keys or values than this are read as the whole list. */
const MOST_TARGETS = 20;

/** The slices that hold all rows which meet the conditions: of what the conditions allow, the one that takes the fewest requests. */
async function narrowest(
  place: QueryPlace,
  query: Query,
  { timeZone }: QuerySource,
  resource: Resource,
  { table: name, conditions }: ReadOfList,
  now: number,
): Promise<readonly Slice[]> {
  const { table, dates, strategy } = resource;
  const child = table.children.find(each => each.name === name);
  const keys = child ? [child.parent] : [table.key.name, table.id.name];
  const fields = child ? [] : valueFields(resource);
  const equal = conditions.filter(({ is, column }) => is === '=' && [...keys, ...fields].includes(column));
  const ranges = child || !dates ? [] : conditions.filter(({ column, isAny }) => column === dates.field && !isAny);
  const asked = { ...query, signal: place.signal };
  const values = await evaluate(place.reader, asked, [
    ...equal.map(textsOf),
    ...ranges.flatMap(({ value }) => [dayOf(value), dayOf(inAWhile(value))]),
  ]);
  const choices: (readonly Slice[])[] = [];
  for (const [index, { column }] of equal.entries()) {
    const texts = (JSON.parse(values[index] ?? '[]') as (string | null)[]).filter(text => text !== null);
    if (texts.length > MOST_TARGETS) continue;
    const isKey = keys.includes(column);
    // A source may take an empty value for no filter at all.
    if (!isKey && texts.some(text => text.trim() !== text || text === '')) continue;
    const slices = texts.map((text): Slice | null => {
      const key = isKey ? possibleKey(table, text) : text;
      return key === null ? null : isKey ? { by: 'one', key } : { by: 'value', field: column, value: text };
    });
    choices.push(slices.filter(slice => slice !== null));
  }
  const bounds = values.slice(equal.length);
  const days = daysOf(
    ranges.map(({ is }, index) => ({ is, first: bounds[2 * index] ?? null, last: bounds[2 * index + 1] ?? null })),
  );
  // A row may lie in a window beside its day.
  if (days) choices.push([strategy.membership === 'window' ? widened(days) : days]);
  const [only, ...others] = choices;
  if (others.length === 0) return only ?? [wholeTime];
  let best: { readonly slices: readonly Slice[]; readonly requests: number } | null = null;
  for (const slices of choices) {
    const { requests } = await refreshCost({ database: place.database, timeZone }, resource, slices, now);
    if (best === null || requests < best.requests) best = { slices, requests };
  }
  return best?.slices ?? [wholeTime];
}

/** The values of an equality, as a JSON array of texts. */
const textsOf = ({ value, isAny }: Condition): string =>
  `array_to_json(${isAny ? `(${value})::text[]` : `array[(${value})::text]`})::text`;

/** A day within the years of four digits. */
const dayOf = (value: string): string =>
  `to_char(greatest(least((${value})::date, '9999-12-31'), '0001-01-01'), 'YYYY-MM-DD')`;

/** What depends on the moment, as explained plans write it, and its type. */
const MOMENT = /\bnow \( \)|\b(?:CURRENT_DATE|CURRENT_TIMESTAMP|LOCALTIMESTAMP)\b/g;
const TYPES: Readonly<Record<string, string>> = { CURRENT_DATE: 'date', LOCALTIMESTAMP: 'timestamp' };

/** The same ten minutes later: a query may wait for its turn. */
const inAWhile = (value: string): string =>
  value.replaceAll(MOMENT, moment => `(now() + interval '10 minutes')::${TYPES[moment] ?? 'timestamptz'}`);

/** A bound on the days, now and in a while. */
interface Bound {
  readonly is: Condition['is'];
  readonly first: string | null;
  readonly last: string | null;
}

function daysOf(bounds: readonly Bound[]): DateSlice | null {
  const from =
    bounds
      .flatMap(({ is, first }) => (is === '<=' ? [] : (first ?? [])))
      .sort()
      .at(-1) ?? null;
  const [to = null] = bounds.flatMap(({ is, last }) => (is === '>=' ? [] : (last ?? []))).sort();
  return from === null && to === null ? null : { by: 'date', from, to };
}

const widened = ({ by, from, to }: DateSlice): DateSlice => ({
  by,
  from: from && addDays(from, -1),
  to: to && addDays(to, 1),
});

const NEVER_REFRESHED: Refreshed = { at: 0, isSettled: false };

/** How old these slices of a list are, and what reading them again takes. */
async function ageOf(
  database: Database,
  { name: source, schema, timeZone }: QuerySource,
  { name, job }: Pick<Resource, 'name' | 'job'>,
  asked: readonly Slice[],
  now: number,
) {
  const { kysely } = database;
  const refreshed = await lastRefreshes(kysely, { source, resource: name }, [wholeTime, ...asked].map(sliceText));
  // Afterwards: what a refresh left in doubt was stored before it ended.
  const resource = await openResource(kysely, { source, schema, name, job });
  const proven = Math.max(oldestOf(partition(resource)) ?? 0, refreshed.get(sliceText(wholeTime))?.at ?? 0);
  let isInVain = false;
  for (const slice of asked)
    if (slice.by === 'one')
      isInVain ||= await wasSoughtInVain(
        database,
        resource,
        slice.key,
        proven,
        refreshed.get(sliceText(slice))?.at ?? 0,
      );
  const targets = isInVain ? [wholeTime] : asked;
  // Of a list that may go on behind its end, only single rows of a range, and those of a value, are known.
  const { partition: cutBy } = resource.strategy;
  const isOpen =
    cutBy !== 'date' &&
    (resource.profile.end?.verdict ?? 'agreed') !== 'agreed' &&
    (cutBy === 'whole' || targets.some(({ by }) => by !== 'one' && by !== 'value'));
  const proofs: (number | null)[] = [];
  let unsettled = 0;
  for (const target of targets) {
    const parts = await partsOf(database, resource, target);
    const proof = oldestOf(parts);
    const { at: again, isSettled } = refreshed.get(sliceText(target)) ?? NEVER_REFRESHED;
    const condition = target === wholeTime ? null : sliceCondition(target, resource.table, resource.dates?.field);
    // What a value lacked is due where it may have gone, and what an undo restored.
    const due = parts.filter(
      ({ dueSince, provenAt }) => dueSince !== null && dueSince > Math.max(provenAt ?? 0, again),
    );
    const rows = await countEach(
      kysely,
      resource.table,
      due.map(({ slice }) => both(condition, membersOf(resource, slice))),
    );
    const doubted = rows.filter(each => each.rows > 0).length;
    // Doubts about the rows of others, such as those of another customer, leave it equal as of when it was read by itself.
    const isOnlyAgain = target.by === 'value' && isSettled && doubted > 0;
    proofs.push(proof === null || isOpen ? null : isOnlyAgain ? again : Math.max(proof, again));
    if (!isOnlyAgain) unsettled += doubted;
    unsettled += await countMissing(kysely, placeOf(resource), resource.table, condition);
  }
  const keys = targets.flatMap(target => (target.by === 'one' ? target.key : []));
  const named = keys.length === targets.length ? keys : null;
  const quarantined = await countBad(kysely, placeOf(resource), named);
  const held = await countHeld(kysely, placeOf(resource), named);
  const cost = async () => (await refreshCost({ database, timeZone }, resource, targets, now)).requests;
  const asOf = oldestOf(proofs.map(provenAt => ({ provenAt })));
  return { targets, cost, unsettled, quarantined, held, isOpen, asOf };
}

/**
 * A refresh, later than the proof of the list, did not find this row. It was not among the newest rows, then: only the whole list shows that it does
 * not exist, unless it was stored and was proven gone.
 */
async function wasSoughtInVain(
  { kysely }: Database,
  { table }: Resource,
  key: string,
  proven: number,
  sought: number,
): Promise<boolean> {
  if (sought <= proven) return false;
  const row = await readStoredRow(kysely, table, key);
  // It may have come since, by an answer that is older than the refresh.
  if (row !== null) return atOf(row._read_at) < sought && atOf(row._synced_at) >= sought;
  const [last] = await readEndedVersions(kysely, table, key, 1);
  return last === undefined || last.endedBy !== 'deleted' || last.to < sought;
}

const atOf = (stamp: unknown): number => Date.parse(String(stamp));

/** The parts of the list that may hold rows of the slice. */
async function partsOf(database: Database, resource: Resource, slice: Slice): Promise<readonly Entry[]> {
  if (slice.by === 'one') {
    const row = await readStoredRow(database.kysely, resource.table, slice.key);
    if (row !== null) return partsOfRow(database, resource, slice.key, row);
  }
  return partition(resource).filter(part => slice.by !== 'date' || isNamed([slice], part.slice));
}
