import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { sampleFields } from '../../../src/cli/lists/sample-fields.ts';
import { withDatabase } from '../../support/database.ts';
import { withLists } from '../lists/with-lists.ts';
import { KEY, run, useBuild } from '../run-command.ts';

useBuild();

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

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-new-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test('new resource declares a list that is synced at once, with tables, types and comments', async () => {
  await withLists({ leads: LEADS }, async url => {
    await withDatabase(async (database, own) => {
      const cwd = emptyFolder();
      const env = { SOURCE_URL: url, SOURCE_API_KEY: KEY, DATABASE_URL: own.url, SOURCE_LAG_SECONDS: '0' };
      const { code, stdout } = await run(['new', 'resource', '/api/v2/leads'], { cwd, env });
      expect([code, stdout]).toEqual([
        0,
        expect.stringContaining('Kept in _extra, as they have no plain column: tags, Odd name.'),
      ]);
      expect(stdout).toContain('written: lists/leads.json');

      const synced = await run(['sync', 'leads'], { cwd, env });
      expect([synced.code, synced.stderr]).toEqual([0, expect.any(String)]);
      const columns = await database.query(
        `select attname || ' ' || format_type(atttypid, atttypmod) as is, col_description(attrelid, attnum) as comment from pg_attribute
         where attrelid = 'warehouse.leads'::regclass and attnum > 0 and attname !~ '^_' order by attnum`,
      );
      expect(columns.rows.map(row => row.is)).toEqual([
        'id bigint',
        'name text',
        'phone text',
        'zip text',
        'value numeric',
        'seen date',
        'made_at timestamp with time zone',
        'owner_id bigint',
        'note text',
      ]);
      expect(columns.rows.at(-2)?.comment).toBe('Owner id.');
      expect(
        (await database.query('select id::int, zip, value::text, _extra from warehouse.leads order by id')).rows,
      ).toEqual([
        { id: 1, zip: '01234', value: '1500.5', _extra: { tags: ['a'], 'Odd name': 1 } },
        { id: 2, zip: '1234', value: '12', _extra: { tags: [] } },
      ]);

      const again = await run(['new', 'resource', '/api/v2/invoices'], { cwd, env });
      expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('There is a resource invoices already')]);
      const twice = await run(['new', 'resource', '/api/v2/leads'], { cwd, env });
      expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining('already: lists/leads.json')]);
    });
  });
});

test('a list whose ids are texts is read whole', async () => {
  const rows = ['b7', 'a1', 'c9'].map(id => ({ id, name: `Row ${id}` }));
  await withLists({ visits: rows }, async url => {
    await withDatabase(async (database, own) => {
      const cwd = emptyFolder();
      const env = { SOURCE_URL: url, SOURCE_API_KEY: KEY, DATABASE_URL: own.url, SOURCE_LAG_SECONDS: '0' };
      expect((await run(['new', 'resource', '/api/v2/visits'], { cwd, env })).code).toBe(0);
      expect(JSON.parse(readFileSync(join(cwd, 'lists/visits.json'), 'utf8'))).toMatchObject({ slicings: [] });
      const synced = await run(['sync', 'visits'], { cwd, env });
      expect([synced.code, synced.stderr]).toEqual([0, expect.any(String)]);
      rows.splice(0, 2, { id: 'b7', name: 'Renamed' }, { id: 'd4', name: 'New' });
      expect((await run(['verify', 'visits', '--repair'], { cwd, env })).code).toBe(0);
      const stored = await database.query(`select id || ' ' || name as is from warehouse.visits order by id`);
      expect(stored.rows.map(row => row.is)).toEqual(expect.arrayContaining(['b7 Renamed', 'c9 Row c9', 'd4 New']));
    });
  });
});

test('fields that are never stored are not declared', async () => {
  const rows = [{ id: 1, name: 'A', password_hash: 'x', internal_note: 'y' }];
  await withLists({ deals: rows }, async url => {
    await withDatabase(async (database, own) => {
      const cwd = emptyFolder();
      const env = { SOURCE_URL: url, SOURCE_API_KEY: KEY, DATABASE_URL: own.url, SOURCE_NEVER: 'internal_note' };
      const { code, stdout } = await run(['new', 'resource', '/api/v2/deals'], { cwd, env });
      expect([code, stdout]).toEqual([0, expect.stringContaining('Never stored: password_hash, internal_note.')]);
      expect((await run(['sync', 'deals'], { cwd, env })).code).toBe(0);
      expect((await database.query('select name, _extra from warehouse.deals')).rows).toEqual([
        { name: 'A', _extra: null },
      ]);
    });
  });
});

test('new resource says what is missing, and writes nothing', async () => {
  await withLists({ leads: LEADS }, async url => {
    await withDatabase(async (_database, own) => {
      const cwd = emptyFolder();
      const env = { SOURCE_URL: url, SOURCE_API_KEY: KEY, DATABASE_URL: own.url };
      for (const path of ['leads?x=1', '//elsewhere.example/leads', '/api/v2/Leads list'])
        expect(await run(['new', 'resource', path], { cwd, env })).toMatchObject({
          code: 2,
          stderr: expect.stringContaining('is not the path of a list'),
        });
      const empty = await run(['new', 'resource', '/api/v2/nothing'], { cwd, env });
      expect([empty.code, empty.stderr]).toEqual([1, expect.stringContaining('shows no rows')]);
      expect(existsSync(join(cwd, 'lists'))).toBe(false);
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
