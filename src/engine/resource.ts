import type { Meta } from '../source/client.ts';
import type { Database } from '../warehouse/database/database.ts';
import { type Entry, NOT_OFFERED, readCoverage } from '../warehouse/ledgers/coverage.ts';
import type { Cursor } from '../warehouse/ledgers/cursors.ts';
import type { Place } from '../warehouse/ledgers/place.ts';
import { readTraits } from '../warehouse/ledgers/traits.ts';
import type { MissingRow } from '../warehouse/rows/missing.ts';
import { readTable, type Table } from '../warehouse/rows/tables.ts';
import { type DateWindow, type Job, mayBeAbsent, slicingOf } from './job.ts';
import { childShape, createRecordParser } from './records/parse-record.ts';
import { lengthInDays, wholeTime } from './slices/date-windows.ts';
import { type DateSlice, overlap, type Slice, sliceText } from './slices/slice.ts';

/** How a list was found to be ordered. */
export type Order = 'id-desc' | 'id-asc' | 'updated-desc' | 'none';

/** What the tables of `sluice` know a resource by. */
export const placeOf = (resource: Resource): Place => ({ source: resource.source, resource: resource.name });

/** One list of a source while its loop runs: its job, its table, and what is known of it. */
export interface Resource {
  readonly source: string;
  readonly name: string;
  readonly job: Job;
  readonly table: Table;
  readonly parse: ReturnType<typeof createRecordParser>;
  readonly dates: DateWindow | undefined;
  /** Coverage by the text of the slice; mirrors `sluice.coverage`. */
  entries: Map<string, Entry>;
  cursor: Cursor;
  /** What the list was found to do, by the name of the trait. */
  readonly traits: Map<string, string>;
  /** Slices being read now. */
  readonly reading: Set<Slice>;
  /** Readings so far, for the turns of `nextSlice`. */
  turn: number;
  /** False while the resource is sure to have no missing rows, or no records in quarantine: nothing needs to leave there then. */
  holdsMissing: boolean;
  quarantined: boolean;
  /** Rows that are missing, as far as known; null after every commit. */
  missing: readonly MissingRow[] | null;
  /** Rows the whole list had when the loop last asked; null where the source does not tell, undefined before. */
  total: number | null | undefined;
}

export async function openResource(
  database: Database,
  options: { source: string; name: string; job: Job; schema: string },
): Promise<Resource> {
  const { source, name, job, schema } = options;
  const table = await readTable(database.kysely, tableDeclaration(name, job, schema));
  const resource: Resource = {
    source,
    name,
    job,
    table,
    parse: createRecordParser(job, { hashed: table.hashed, contentKeyed: isContentKeyed(table) }),
    dates: slicingOf(job, 'date'),
    entries: new Map(),
    cursor: { version: '0', readings: {} },
    traits: new Map(),
    reading: new Set(),
    turn: 0,
    holdsMissing: true,
    quarantined: true,
    missing: null,
    total: undefined,
  };
  await refreshResource(database, resource);
  return resource;
}

/** What is known of the list, as it is stored now. */
export async function refreshResource(database: Database, resource: Resource): Promise<void> {
  const { source, name } = resource;
  const entries = await readCoverage(database.kysely, { source, resource: name });
  resource.entries = new Map(entries.map(entry => [sliceText(entry.slice), entry]));
  resource.traits.clear();
  for (const trait of await readTraits(database.kysely, source)) {
    if (trait.resource === name) resource.traits.set(trait.trait, trait.value);
  }
  resource.missing = null;
  resource.total = undefined;
}

/** The table and columns a job needs. */
export function tableDeclaration(name: string, job: Job, schema: string) {
  const fields = Object.keys(job.record.shape);
  return {
    schema,
    name,
    keyField: job.key,
    fields: fields.filter(field => !(field in job.children)),
    children: Object.entries(job.children).map(([field, child]) => ({
      field,
      ...child,
      fields: Object.keys(childShape(job, field)),
    })),
    history: job.history,
  };
}

/** Rows may come without an id: the table has a key of its own. */
export const isContentKeyed = (table: Table): boolean => table.key.name !== table.id.name;

export const orderOf = (resource: Resource): Order | undefined => resource.traits.get('order') as Order | undefined;
export const isIdOrdered = (resource: Resource): boolean => orderOf(resource)?.startsWith('id-') ?? false;

/** The list does not turn pages: one answer is all it shows. */
export const isPageless = (resource: Resource): boolean => resource.traits.get('paging') === 'ignored';

/** Its pages can neither overlap nor be counted, so nothing tells of a row that slips between two of them. */
export const mayLeaveGaps = ({ traits }: Resource): boolean =>
  traits.get('limit') === 'ignored' && traits.get('paging') === 'until empty';

/** How the list is cut: by the dates it can be asked for, else by its own order, else not at all. */
export function partitionOf(resource: Resource): 'date' | 'id' | 'whole' {
  const { traits } = resource;
  const pageless = isPageless(resource);
  // Rows without a date lie in no window; where the list is cut short, windows still show more than anything else.
  const undated = traits.get('undated') === 'yes' && !(pageless && traits.get('one answer') === 'cut');
  const windows = resource.dates !== undefined && traits.get('date filter') !== 'ignored' && !undated;
  if (windows && traits.get('dates') !== 'no') return 'date';
  const order = orderOf(resource);
  const byId = slicingOf(resource.job, 'id') !== undefined || resource.dates !== undefined;
  if (byId && !pageless && !mayLeaveGaps(resource) && (order === undefined || isIdOrdered(resource))) return 'id';
  return windows ? 'date' : 'whole';
}

/** Rows do not show their date: the windows that return them are kept in its stead. */
export const keepsWindows = (resource: Resource): boolean =>
  resource.traits.get('dates') === 'no' && partitionOf(resource) === 'date';

/** A window of so many days costs little more when it is asked for a day wider on both sides. */
const LONG_DAYS = 28;

/** What is learnt of a window's first and last day, by the trait's name. */
export type Edge = 'date from' | 'date to';

/** The edges at which a window is asked for by just its days: where the source was seen to include them. */
export function narrowEdges(resource: Resource, window: DateSlice): Edge[] {
  // What rows without a date belong to is judged by the question, which therefore is always put alike.
  if (lengthInDays(window) >= LONG_DAYS || keepsWindows(resource)) return [];
  return (['date from', 'date to'] as const).filter(edge => resource.traits.get(edge) === 'inclusive');
}

const unread = (slice: Slice): Entry => ({
  slice,
  provenAt: null,
  readAt: null,
  requests: 1,
  rows: null,
  changed: 0,
  hoursWatched: 0,
  dueSince: null,
  dueReason: null,
});

/** The slices that together are the whole list; one never read stands for all of it at first. */
export function partition(resource: Resource): Entry[] {
  const by = partitionOf(resource);
  const entries = [...resource.entries.values()].filter(entry => entry.slice.by === by);
  if (entries.length > 0) return entries;
  const all: Slice = by === 'date' ? wholeTime : by === 'id' ? { by, from: null, to: null } : { by };
  return [unread(all)];
}

/** The list is there, or must be: what was read once does not cease to be offered. */
export const isOffered = (resource: Resource): boolean =>
  !mayBeAbsent(resource.job) || partition(resource).some(entry => entry.provenAt !== null);

/** When the source was last asked for a list that it has not (epoch ms); null where it has, or was never asked. */
export function foundAbsentAt(resource: Resource): number | null {
  const [part] = partition(resource);
  return part?.dueReason === NOT_OFFERED ? part.readAt : null;
}

/** The list as coverage has it once the source said that there is none. */
export const absentEntries = (resource: Resource, now: number): Entry[] =>
  partition(resource).map(entry => ({ ...entry, readAt: now, dueReason: NOT_OFFERED }));

/** As of when the whole list is proven (epoch ms); null while parts of it were never read. */
export function oldestProof(resource: Resource): number | null {
  const proofs = partition(resource).map(entry => entry.provenAt);
  return proofs.includes(null) ? null : Math.min(...(proofs as number[]));
}

/** The source answers with rows that have another value than was asked for. */
export const ignoresFilter = (resource: Resource, field: string): boolean =>
  resource.traits.get(`filter ${field}`) === 'ignored';

/** Slices read at every sync whatever is known: the newest end, and the values a job watches. */
export function watched(resource: Resource): Entry[] {
  const slices: Slice[] = [];
  if (partitionOf(resource) !== 'id') slices.push({ by: 'newest' });
  for (const slicing of resource.job.slicings) {
    if (slicing.by !== 'value' || ignoresFilter(resource, slicing.field)) continue;
    for (const value of slicing.watch) slices.push({ by: 'value', field: slicing.field, value });
  }
  return slices.map(slice => resource.entries.get(sliceText(slice)) ?? unread(slice));
}

/** Rows a request brings: what the source was found to return, `unknown` before. */
export function pageSize(resource: Resource, unknown = 100): number {
  return Number(resource.traits.get('page size') ?? unknown);
}

/** Requests that reading the whole list again would take, as far as known. */
export function wholeCost(resource: Resource): number {
  const rows = partition(resource).reduce((sum, entry) => sum + (entry.rows ?? 0), 0);
  const targeted = watched(resource).reduce((sum, entry) => sum + entry.requests, 0);
  return Math.ceil((rows / pageSize(resource)) * 1.1) + targeted;
}

/** The greatest number of pages a list can claim before it is taken for a fault. */
export const PAGE_CEILING = 100_000;

export function pagesOf(meta: Meta | undefined, rows: number): number | null {
  if (meta?.totalPages === undefined) return null;
  // A source that counts pages by another size than it returns is believed by its rows.
  const byRows = meta.totalRecords !== undefined && rows > 0 ? Math.ceil(meta.totalRecords / rows) : meta.totalPages;
  return Math.min(Math.max(meta.totalPages, meta.totalPages === 1 ? 1 : byRows), PAGE_CEILING);
}

/** Rows of the slice are stored, as far as its readings tell; of what was never read by itself, they may be. */
export function holdsRows(resource: Resource, slice: Slice): boolean {
  const own = resource.entries.get(sliceText(slice));
  if (own) return own.rows !== 0;
  const parts = partition(resource).filter(entry => entry.slice.by === slice.by && overlap(entry.slice, slice));
  return parts.length === 0 || parts.some(entry => entry.rows !== 0);
}
