import { isAbout, isNamed } from '../../engine/agenda/plan.ts';
import { oldestOf, pageSize, partition } from '../../engine/coverage/list.ts';
import type { Job } from '../../engine/job.ts';
import { openResource, placeOf, type Resource } from '../../engine/resource.ts';
import { cutList } from '../../engine/run/tasks/cut-list.ts';
import { refreshTargets } from '../../engine/run/tasks/find-targets.ts';
import { parseSlice, type Slice, sliceText } from '../../engine/slices/slice.ts';
import { SluiceError } from '../../errors.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { Order } from '../../warehouse/ledgers/orders.ts';
import { listMissing } from '../../warehouse/rows/missing-rows.ts';
import { countBad } from '../../warehouse/rows/quarantine.ts';
import { sliceCondition } from '../../warehouse/rows/slice-condition.ts';
import { countRows } from '../../warehouse/rows/stored-rows.ts';
import { storedKey } from '../../warehouse/rows/tables.ts';
import { plural } from '../format.ts';
import { parseRange, rangeText } from './order-requests.ts';

/** What people name to be made equal now. */
export interface Named {
  /** Ids, or what the table shows as `_key`. */
  readonly keys?: readonly string[];
  /** Days, both inclusive. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** `field=value`. */
  readonly where?: string | undefined;
}

/** The requests that a refresh may take, unless more are allowed. */
export const MOST_REQUESTS = 20;

/** The targets of an order for what was named. Kind `usage` for nothing, or for what the source cannot be asked for. */
export function targetsFor(jobs: ReadonlyMap<string, Job>, resource: Resource, named: Named): readonly Slice[] {
  const { name, table } = resource;
  const { keys = [], from, to, where } = named;
  const rows = keys.map((key): Slice => ({ by: 'one', key: storedKey(table, key) }));
  const days: Slice[] =
    from === undefined && to === undefined ? [] : [{ by: 'date', ...parseRange(jobs, name, { from, to }) }];
  const targets = [...rows, ...days, ...(where === undefined ? [] : [valueTarget(resource, where)])];
  if (targets.length > 0) return targets;
  throw new SluiceError('usage', `What of ${name} is to be refreshed?`, {
    next: `Name records (${name} 17), days (--from, --to) or a value (--where). All of it: sluice sync ${name} --full`,
  });
}

/** The fields by whose values the source can be asked for the rows of a list, as far as is known. */
export const valueFields = ({ job, profile }: Resource): string[] =>
  job.slicings.flatMap(each => (each.by === 'value' && !profile.ignoredFilters.has(each.field) ? each.field : []));

function valueTarget(resource: Resource, text: string): Slice {
  const { name } = resource;
  const fields = valueFields(resource);
  const equals = text.indexOf('=');
  const field = text.slice(0, Math.max(equals, 0)).trim();
  const value = text.slice(equals + 1).trim();
  if (value !== '' && fields.includes(field)) return { by: 'value', field, value };
  throw new SluiceError('usage', `The source cannot be asked for ${name} by --where ${text}.`, {
    next:
      fields.length === 0
        ? `It has no filter by a value of ${name}. Name records or days.`
        : `Expected: <field>=<value>, with one of: ${fields.join(', ')}.`,
  });
}

/** What a refresh takes as far as is known: each reading as its last, and a page where there was none. */
export async function refreshCost(
  place: { readonly database: Database; readonly timeZone: string },
  resource: Resource,
  targets: readonly Slice[],
  now: number,
): Promise<{ readonly requests: number; readonly provenAt: number | null }> {
  const reads = await refreshTargets(place, resource, targets, now);
  const cut = (await cutList(place, resource, now, { targets: reads }))?.() ?? {};
  const removed = new Set(cut.removed?.map(sliceText));
  const kept = partition(resource).filter(({ slice }) => !removed.has(sliceText(slice)));
  const parts = [...kept, ...(cut.put ?? [])].filter(({ slice }) => isNamed(reads, slice));
  let requests = parts.reduce((sum, part) => sum + Math.max(part.requests, 1), 0);
  for (const slice of reads) {
    if (slice.by === 'date' || slice.by === 'id') continue;
    const { rows } =
      slice.by === 'value'
        ? await countRows(place.database.kysely, resource.table, sliceCondition(slice, resource.table, undefined))
        : { rows: 1 };
    requests += Math.max(Math.ceil(rows / pageSize(resource)), 1);
  }
  return { requests, provenAt: oldestOf(parts) };
}

/**
 * What is not equal yet of what was named, or of what its readings touched: rows, or parts that hold some, of which it is not proven yet whether they
 * are gone, and records that its readings could not read.
 */
export async function doubtsAfter(
  database: Database,
  list: Parameters<typeof openResource>[1],
  { targets, createdAt, leftDue }: Pick<Order, 'targets' | 'createdAt' | 'leftDue'>,
): Promise<{ readonly unsettled: number; readonly quarantined: number }> {
  const resource = await openResource(database.kysely, list);
  const place = placeOf(resource);
  const named = targets.map(parseSlice);
  const missing = await listMissing(database.kysely, place, resource.table, resource.strategy);
  const rows = missing.filter(row => Date.parse(row.since) >= createdAt || isAbout(resource, named, row));
  // What a value lacked, and no other slice yet.
  const due = partition(resource).filter(
    ({ dueSince, provenAt }) => leftDue && dueSince !== null && dueSince >= createdAt && dueSince > (provenAt ?? 0),
  );
  return {
    unsettled: Math.max(rows.length, due.length),
    quarantined: await countBad(database.kysely, place, null, createdAt),
  };
}

/** Kind `usage` for more than may be spent; it says what narrows it. */
export function refuseIfTooMuch(name: string, requests: number, most: number): void {
  if (requests <= most) return;
  throw new SluiceError(
    'usage',
    `This takes about ${plural(requests, 'request')}, and at most ${most} are allowed. None was sent.`,
    {
      next: `Name fewer days of ${name}, records or a value, or allow it: --max-requests ${requests}.`,
    },
  );
}

/** What was named, for people: `record 17`, `customer_id=4`, `2025-01-01 .. 2025-01-31`. */
export function namedText(slice: Slice): string {
  if (slice.by === 'one') return `record ${slice.key}`;
  return slice.by === 'date' ? rangeText(slice) : sliceText(slice);
}
