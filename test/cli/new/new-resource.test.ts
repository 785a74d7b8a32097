import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { sampleFields } from '../../../src/cli/commands/new.ts';
import type { Job } from '../../../src/engine/job.ts';
import { declareTables } from '../../../src/engine/records/declare-table.ts';
import { openResource } from '../../../src/engine/resource.ts';
import { migrate } from '../../../src/warehouse/database/migrate.ts';
import { MIGRATIONS, withDatabase } from '../../support/database.ts';
import { KEY, run, useBuild } from '../run-command.ts';

useBuild();

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

const LEADS = [
  {
    id: 1,
    name: 'Zoë',
    phone: '0660 1',
    zip: '01234',
    value: '1500.50',
    seen: '2026-01-15',
    made_at: '2026-01-15T10:00:00Z',
    owner_id: 7,
    tags: ['a'],
    'Odd name': 1,
  },
  {
    id: 2,
    name: null,
    phone: '',
    zip: '1234',
    value: 12,
    seen: null,
    made_at: null,
    owner_id: null,
    tags: [],
    note: 'late',
  },
];

/** A source with a list that Sluice does not know. */
async function withLeads(fn: (url: string) => Promise<void>): Promise<void> {
  const server = createServer((request, response) => {
    const isList = new URL(request.url ?? '', 'http://x').pathname === '/api/v2/leads';
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        status: 'success',
        data: isList ? LEADS : [],
        meta: { total_records: isList ? 2 : 0, total_pages: 1 },
      }),
    );
  }).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  try {
    await fn(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
  }
}

/** What a clone of the repository has, as far as a resource needs it. Inside the repository, so that its packages are found. */
function cloneOf(): string {
  const cache = join(ROOT, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'clone-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  cpSync(join(ROOT, 'jobs'), join(folder, 'jobs'), { recursive: true });
  symlinkSync(join(ROOT, 'src'), join(folder, 'src'));
  return folder;
}

test('new resource writes a job that fits the list', async () => {
  await withLeads(async url => {
    await withDatabase(async (database, own) => {
      const cwd = cloneOf();
      const env = { SOURCE_URL: url, SOURCE_API_KEY: KEY, DATABASE_URL: own.url };
      const { code, stdout } = await run(['new', 'resource', '/api/v2/leads'], { cwd, env });
      expect([code, stdout]).toEqual([
        0,
        expect.stringContaining('Kept in _extra, as they have no plain column: tags, Odd name.'),
      ]);
      expect(stdout).toContain('written: jobs/leads.ts');

      const { default: job } = (await import(join(cwd, 'jobs/leads.ts'))) as { default: Job };
      expect(await migrate({ database, ...MIGRATIONS, lists: declareTables([['leads', job]]) })).toEqual([
        'warehouse/leads',
      ]);
      const resource = await openResource(database.kysely, { source: 'main', name: 'leads', job, schema: 'warehouse' });
      expect(resource.table.columns.map(({ name, type }) => [name, type])).toEqual([
        ['id', 'bigint'],
        ['name', 'text'],
        ['phone', 'text'],
        ['zip', 'text'],
        ['value', 'numeric'],
        ['seen', 'date'],
        ['made_at', 'timestamp with time zone'],
        ['owner_id', 'bigint'],
        ['note', 'text'],
      ]);
      for (const lead of LEADS) expect(resource.parse(lead, '2026-01-15')).toHaveProperty('row');
      expect((await database.query('select * from warehouse.leads_as_of(now())')).rows).toEqual([]);

      const again = await run(['new', 'resource', '/api/v2/invoices'], { cwd, env });
      expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('There is a resource invoices already')]);
    });
  });
});

test('new resource says what is missing, and writes nothing', async () => {
  await withLeads(async url => {
    await withDatabase(async (_database, own) => {
      const env = { SOURCE_URL: url, SOURCE_API_KEY: KEY, DATABASE_URL: own.url };
      const elsewhere = await run(['new', 'resource', '/api/v2/leads'], { env });
      expect([elsewhere.code, elsewhere.stderr]).toEqual([2, expect.stringContaining('jobs is not here')]);
      const odd = await run(['new', 'resource', 'leads?x=1'], { env });
      expect([odd.code, odd.stderr]).toEqual([2, expect.stringContaining('is not the path of a list')]);
      const cwd = cloneOf();
      const empty = await run(['new', 'resource', '/api/v2/nothing'], { cwd, env });
      expect([empty.code, empty.stderr]).toEqual([1, expect.stringContaining('shows no rows')]);
      expect(readdirSync(join(cwd, 'jobs'))).toEqual(readdirSync(join(ROOT, 'jobs')));
      expect(readFileSync(join(cwd, 'jobs/invoices.ts'), 'utf8')).toContain('invoices');
    });
  });
});

test('the type of a field holds every value of the sample', () => {
  const typeOf = (...values: unknown[]) => sampleFields(values.map(value => ({ value }))).fields[0]?.type;
  expect(typeOf(1, '2', null)).toBe('integer');
  expect(typeOf(1, '2.5')).toBe('decimal');
  expect(typeOf('007')).toBe('text');
  expect(typeOf('+43660')).toBe('text');
  expect(typeOf('2026-01-15', '')).toBe('date');
  expect(typeOf('2026-01-15 10:00:00')).toBe('timestamp');
  expect(typeOf('2026-01-15', 'soon')).toBe('text');
  expect(typeOf(null, '')).toBe('text');
  expect(typeOf(true)).toBe('text');
});
