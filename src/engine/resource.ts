import type { Db } from '../warehouse/database/database.ts';
import { readSourceCoverage } from '../warehouse/ledgers/coverage.ts';
import type { Cursor } from '../warehouse/ledgers/cursors.ts';
import type { Place } from '../warehouse/ledgers/sources.ts';
import { readTraits } from '../warehouse/ledgers/traits.ts';
import { NO_EXCEPTIONS, readExceptions } from '../warehouse/rows/exceptions.ts';
import type { MissingRow } from '../warehouse/rows/missing-rows.ts';
import { type Table, tableIn } from '../warehouse/rows/tables.ts';
import type { List } from './coverage/list.ts';
import { type DateWindow, type Job, slicingOf } from './job.ts';
import type { CountedWindow } from './profile/counts.ts';
import type { LeftOut } from './profile/limited-span.ts';
import { NO_EXTRAS, type SeenExtras } from './profile/observe-volatile.ts';
import { profileOf, type SourceProfile, UNKNOWN } from './profile/source-profile.ts';
import { type Strategy, strategyFor } from './profile/strategy.ts';
import { digestOfDeclaration } from './records/declaration.ts';
import { declareTable } from './records/declare-table.ts';
import { createRecordParser } from './records/parse-record.ts';
import type { Entry } from './slices/coverage-entry.ts';
import { type Slice, sliceText } from './slices/slice.ts';

/** What the tables of `sluice` know a resource by. */
export const placeOf = (resource: Resource): Place => ({ source: resource.source, resource: resource.name });

/** One list of a source while its loop runs: its job, its table, and what is known of it. */
export interface Resource extends List {
  readonly source: string;
  readonly name: string;
  readonly table: Table;
  readonly parse: ReturnType<typeof createRecordParser>;
  /** Of what is declared, as far as it tells which row a record becomes. */
  readonly declarationDigest: string;
  readonly dates: DateWindow | undefined;
  readonly lagMs: number;
  /** What the list was observed to do; `adopt` replaces it together with the strategy. */
  profile: SourceProfile;
  strategy: Strategy;
  /** Mirrors `sluice.coverage`. */
  entries: Map<string, Entry>;
  cursor: Cursor;
  /** Slices being read now. */
  readonly reading: Set<Slice>;
  /** False while the resource is sure to have no missing rows, or no records in quarantine: nothing needs to leave there then. */
  holdsMissing: boolean;
  quarantined: boolean;
  /** Columns and child fields of which something stored is held that the source shows empty. */
  heldFields: ReadonlySet<string>;
  /** Those whose losses an open order accepts. */
  acceptedLosses: ReadonlySet<string>;
  /** So many more rows may be updated before the values of any field have to be counted that were replaced within 24 hours. */
  untoldUpdates: number;
  /** Rows that are missing, as far as known; null after every commit. */
  missing: readonly MissingRow[] | null;
  total: number | null | undefined;
  accountedAt: number | undefined;
  /** What the source counted in the windows read last, the newest last. */
  countedWindows: readonly CountedWindow[];
  /** The longest reading of a window that came without a count lately, and when it was granted (epoch ms). */
  shownLately: { readonly rows: number; readonly at: number } | null;
  /** What this process has seen of its unknown fields. */
  extras: SeenExtras;
  /** Rows that the filter may have left out of a window, and those of them that shorter windows have shown since. */
  leftOut: readonly LeftOut[];
}

export interface ResourceOptions {
  readonly source: string;
  readonly name: string;
  readonly job: Job;
  readonly schema: string;
  readonly lagMs?: number;
}

export async function openResource(db: Db, options: ResourceOptions): Promise<Resource> {
  const resource = createResource(options);
  await refreshResources(db, [resource]);
  return resource;
}

/** A list of which nothing is known yet. */
export function createResource(options: ResourceOptions): Resource {
  const { source, name, job, schema, lagMs = 0 } = options;
  const table = tableIn(schema, declareTable(name, job));
  const volatile = () => resource.profile.volatile.fields;
  const resource: Resource = {
    source,
    name,
    job,
    table,
    declarationDigest: digestOfDeclaration(job, table),
    parse: createRecordParser(job, { hashed: table.hashed, contentKeyed: isContentKeyed(table), volatile }),
    dates: slicingOf(job, 'date'),
    lagMs,
    profile: UNKNOWN,
    strategy: strategyFor(UNKNOWN, job),
    entries: new Map(),
    cursor: { version: '0', isLogged: false, readings: {} },
    reading: new Set(),
    holdsMissing: true,
    quarantined: true,
    heldFields: new Set(),
    acceptedLosses: new Set(),
    untoldUpdates: 0,
    missing: null,
    total: undefined,
    accountedAt: undefined,
    countedWindows: [],
    shownLately: null,
    extras: NO_EXTRAS,
    leftOut: [],
  };
  return resource;
}

/** What is known of lists of one source, as it is stored now. Three statements for all of them. */
export async function refreshResources(db: Db, resources: readonly Resource[]): Promise<void> {
  const [first] = resources;
  if (first === undefined) return;
  const { source } = first;
  const names = resources.map(({ name }) => name);
  const coverage = await readSourceCoverage(db, source, names);
  const traits = await readTraits(db, source);
  const exceptions = await readExceptions(db, source, names);
  for (const resource of resources) {
    const { name } = resource;
    resource.entries = new Map((coverage.get(name) ?? []).map(entry => [sliceText(entry.slice), entry]));
    adopt(resource, profileOf(traits.filter(trait => trait.resource === name)));
    const { isMissing, isQuarantined, held } = exceptions.get(name) ?? NO_EXCEPTIONS;
    resource.holdsMissing = isMissing;
    resource.quarantined = isQuarantined;
    resource.heldFields = new Set(held);
    resource.acceptedLosses = new Set();
    resource.missing = null;
    resource.untoldUpdates = 0;
    resource.total = undefined;
    resource.accountedAt = undefined;
    resource.shownLately = null;
    resource.leftOut = [];
    resource.countedWindows = [];
  }
}

/** From now on the list is read as this profile says. */
export function adopt(resource: Resource, profile: SourceProfile): void {
  resource.profile = profile;
  resource.strategy = strategyFor(profile, resource.job);
}

/** Rows may come without an id: the table has a key of its own. */
export const isContentKeyed = (table: Table): boolean => table.key.name !== table.id.name;
