import { type Context, Hono } from 'hono';
import { confirmationOf } from '../../../engine/deletion/is-deleted.ts';
import { openResource, placeOf } from '../../../engine/resource.ts';
import { databaseNow } from '../../../warehouse/database/now.ts';
import { stampMs } from '../../../warehouse/database/stamp.ts';
import { listColumns, listTables, listViews, newestRows } from '../../../warehouse/reports/data-tables.ts';
import { countTables } from '../../../warehouse/reports/measures.ts';
import { resourceProofs } from '../../../warehouse/reports/source-state.ts';
import { listMissing } from '../../../warehouse/rows/missing-rows.ts';
import { listQuarantine } from '../../../warehouse/rows/quarantine.ts';
import { whyMissing } from '../../record/read-story.ts';
import type { ServedSource } from '../../status/served-source.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { recordPath } from '../record/record-page.ts';
import { dataPage, type SourceTables } from './data-page.ts';
import { missingPage, quarantinePage, type ShownMissing } from './exceptions-page.ts';
import { tablePage } from './table-page.ts';

const MOST_ROWS = 50;
const MOST_EXCEPTIONS = 200;

export function dataRoutes(parts: ConsoleParts): Hono {
  const { database, sources, hide } = parts;
  const find = (c: Context) => sources.find(({ name }) => name === c.req.param('source'));
  const nowFor = async ({ timeZone }: { timeZone: string }) => ({ at: await databaseNow(database), timeZone });
  const several = sources.length > 1;
  return new Hono()
    .get('/data', async (c, next) => {
      const names = sources.map(({ name }) => name);
      const source = sources.find(({ name }) => name === (c.req.query('source') ?? names[0]));
      if (source === undefined) return next();
      const shown = await readTables(parts, source);
      return c.html(String(await dataPage(shown, names, await nowFor(source))));
    })
    .get('/data/:source/:table', async (c, next) => {
      const source = find(c);
      const shown = source && (await readTable(parts, source, c.req.param('table')));
      if (!shown) return next();
      return c.html(String(await tablePage(shown, await nowFor(source))));
    })
    .get('/quarantine/:source', async (c, next) => {
      const source = find(c);
      if (source === undefined) return next();
      const records = await listQuarantine(database.kysely, source.name, MOST_EXCEPTIONS);
      const page = quarantinePage(records, { source: source.name, several, hide }, await nowFor(source));
      return c.html(String(await page));
    })
    .get('/missing/:source', async (c, next) => {
      const source = find(c);
      if (source === undefined) return next();
      const rows = await readMissing(parts, source);
      return c.html(String(await missingPage(rows, { source: source.name, several, hide }, await nowFor(source))));
    });
}

async function readTables(parts: ConsoleParts, source: ServedSource): Promise<SourceTables> {
  const { database, rowCounts } = parts;
  const { kysely } = database;
  const { name, schema, jobs } = source;
  const counted = await rowCounts(source);
  const tables = await listTables(kysely, schema);
  const others = tables.filter(table => !counted.has(table.name)).map(table => table.name);
  const rest = await countTables(kysely, schema, others);
  const rowsOf = (table: string) => counted.get(table) ?? rest[others.indexOf(table)] ?? 0;
  const proofs = await resourceProofs(
    kysely,
    [...jobs.keys()].map(resource => ({ source: name, resource })),
  );
  return {
    source: name,
    schema,
    tables: tables.map(table => ({ ...table, rows: rowsOf(table.name) })),
    views: await listViews(kysely, schema),
    quarantined: proofs.reduce((sum, each) => sum + each.quarantined, 0),
    missing: proofs.reduce((sum, each) => sum + each.missing, 0),
    reader: await readerAddress(parts),
  };
}

/** Without its password: a page may be seen by people who may not have it. */
async function readerAddress(parts: ConsoleParts): Promise<string | null> {
  const reader = await parts.openReader().catch(() => null);
  if (reader === null) return null;
  const { rows } = await reader.query<{ login: string }>('select current_user as login');
  return `postgres://${encodeURIComponent(rows[0]?.login ?? '')}@${reader.place}`;
}

/** Null for a table that is not there. */
async function readTable({ database, sources, rowCounts }: ConsoleParts, source: ServedSource, name: string) {
  const { kysely } = database;
  const { schema, jobs } = source;
  const info = (await listTables(kysely, schema)).find(table => table.name === name);
  if (info === undefined) return null;
  const columns = await listColumns(kysely, schema, name);
  const owner = [...jobs].find(([, job]) => Object.values(job.children).some(({ table }) => table === name));
  const child = owner && Object.values(owner[1].children).find(({ table }) => table === name);
  const keyColumn = columns.find(({ isKey }) => isKey)?.name ?? '';
  const pathOf = (row: Readonly<Record<string, string | null>>): string | null => {
    const [resource, key] = child
      ? [owner[0], row[child.parent]]
      : name === 'row_history'
        ? [row.resource ?? '', row.key]
        : [name, row[keyColumn]];
    if (!key || !jobs.has(resource)) return null;
    return recordPath({ resource, key, source: source.name, several: sources.length > 1 });
  };
  return {
    source: source.name,
    schema,
    ...info,
    columns,
    rows: (await rowCounts(source)).get(name) ?? (await countTables(kysely, schema, [name]))[0] ?? 0,
    newest: await newestRows(kysely, { schema, name }, columns, MOST_ROWS),
    pathOf,
  };
}

async function readMissing({ database }: ConsoleParts, source: ServedSource): Promise<ShownMissing[]> {
  const { kysely } = database;
  const shown: ShownMissing[] = [];
  for (const [name, job] of source.jobs) {
    const resource = await openResource(database, { source: source.name, name, job, schema: source.schema });
    const { strategy, table } = resource;
    for (const row of await listMissing(kysely, placeOf(resource), table, strategy.relatedBy)) {
      const { key, slice, since } = row;
      const why = whyMissing(row, confirmationOf(row, strategy), strategy.relatedBy);
      shown.push({ resource: name, key, slice, since: stampMs(since), why });
    }
  }
  return shown.slice(0, MOST_EXCEPTIONS);
}
