import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { begin, hasTerminals, KEY, run, until, useBuild, withInstallation } from './run-command.ts';

useBuild();

const SCHEMAS = `select nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' order by 1`;

test('uninstall shows what lies where, asks, and removes what Sluice made and nothing else', async () => {
  await withInstallation({}, async ({ database, env, sluice, sync }) => {
    await sync('customers', 'invoices');
    await database.query('create schema theirs');
    await database.query('create view theirs.cities as select city, count(*) from warehouse.customers group by 1');
    await database.query('create table warehouse.notes (customer_id int references warehouse.customers, note text)');
    await database.query('create publication feed for table warehouse.customers');
    await database.query(
      "insert into sluice.webhooks (source, url, events, registered_at) values ('main', 'https://s.example.com', '{}', now())",
    );
    const schemas = async () => (await database.query(SCHEMAS)).rows.map(({ nspname }) => nspname);
    const before = await schemas();

    const dry = await sluice('uninstall', '--dry-run');
    expect([dry.code, dry.stderr]).toEqual([0, '']);
    for (const text of [
      /^Would be removed from /,
      /data +schema warehouse +\d+ tables, [\d,]+ rows/,
      /bookkeeping +schema sluice/,
      'Views in other schemas go with the tables that they read: theirs.cities.',
      'Tables that refer to rows stay, without these foreign keys: warehouse.notes.',
      'Publications stay, without these tables: feed.',
      'The source still sends to https://s.example.com',
    ])
      expect(dry.stdout).toMatch(text);
    for (const line of dry.stdout.split('\n').slice(0, 6)) expect(line.length).toBeLessThanOrEqual(100);
    const refused = await sluice('uninstall');
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('To confirm: sluice uninstall --yes')]);
    expect(await schemas()).toEqual(before);

    const document = (await sluice('uninstall', '--yes', '--json')).json();
    expect(document).toMatchObject({ removed: true, schemas: ['warehouse'], schemasLeft: ['warehouse'], folder: null });
    expect(await schemas()).toEqual(['public', 'theirs', 'warehouse']);
    const { rows } = await database.query(
      `select relname from pg_class where relnamespace in ('warehouse'::regnamespace, 'theirs'::regnamespace) order by 1`,
    );
    expect(rows.map(({ relname }) => relname)).toEqual(['notes']);
    // Another installation begins as if there never was one.
    expect((await run(['status'], { env })).code).not.toBe(2);
    const again = await sluice('uninstall', '--yes');
    expect([again.code, again.stdout]).toEqual([0, expect.stringMatching(/0 tables, 0 rows/)]);
  });
});

test('uninstall refuses while another program of Sluice is connected', async () => {
  await withInstallation({}, async ({ test: given, sluice, database }) => {
    const other = await given.open('sluice start');
    await other.query('select 1');
    const refused = await sluice('uninstall', '--yes');
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('Another process of Sluice uses this database: sluice start.'),
    ]);
    await other.close();
    expect((await database.query('select count(*)::int as rows from sluice.sources')).rows).toEqual([{ rows: 0 }]);
  });
});

test('uninstall leaves tables of others alone, whatever they and their schema are called', async () => {
  await withInstallation({}, async ({ database, env }) => {
    const schemas = async () => (await database.query(SCHEMAS)).rows.map(({ nspname }) => nspname);
    await database.query('drop schema warehouse cascade');
    expect((await run(['sync', 'users'], { env: { ...env, WAREHOUSE_SCHEMA: 'books' } })).code).toBe(0);
    await database.query('create schema warehouse');
    await database.query('create table warehouse.customers as select 17 as id');
    await database.query('create view public.theirs as select * from warehouse.customers');
    await database.query('drop table books.quotes, books.quote_items cascade');
    await database.query('create table books.quotes as select 1 as id');
    await database.query('create table books.quote_items as select 1 as line');

    const removed = await run(['uninstall', '--yes', '--json'], { env });
    expect(removed.json()).toMatchObject({ schemas: ['books'], schemasLeft: ['books'], views: expect.any(Array) });
    const { rows } = await database.query(
      `select relnamespace::regnamespace || '.' || relname as name from pg_class
      where relkind in ('r', 'v') and relnamespace::regnamespace::text in ('books', 'warehouse', 'public') order by 1`,
    );
    expect(rows.map(({ name }) => name)).toEqual([
      'books.quote_items',
      'books.quotes',
      'public.theirs',
      'warehouse.customers',
    ]);

    const inPublic = { ...env, WAREHOUSE_SCHEMA: 'public' };
    await database.query('drop view public.theirs');
    expect((await run(['migrate'], { env: inPublic })).code).toBe(0);
    const again = await run(['uninstall', '--yes'], { env: inPublic });
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('Schema public stays')]);
    expect(await schemas()).toEqual(['books', 'public', 'warehouse']);
  });
});

test.runIf(hasTerminals)('uninstall asks with the schemas and what they hold', async () => {
  await withInstallation({}, async ({ env, sync, database }) => {
    await sync('users');
    const asking = begin(['uninstall'], { env, terminal: true, open: true });
    await until(() => asking.stdout().includes('(yes/no)'));
    asking.child.stdin?.write('no\n');
    const { stdout } = await asking.ended;
    expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(/\(schema warehouse: \d+ tables, \d+ rows\), with all history/);
    expect((await database.query('select from warehouse.users')).rows).not.toEqual([]);
  });
});

test('uninstall names the sources file that is used, and what removes it in a form that a shell takes', async () => {
  const cwd = mkdtempSync(join(tmpdir(), "sluice-it's-"));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  mkdirSync(join(cwd, 'my settings'));
  const file = join(cwd, 'my settings', 'ours.json');
  const main = { name: 'main', url: 'https://books.example.com', api_key_from: 'SOURCE_MAIN_KEY' };
  writeFileSync(file, JSON.stringify([main]));
  writeFileSync(join(cwd, 'ours.json'), 'of another program');
  await withInstallation({}, async ({ env: { DATABASE_URL = '' } }) => {
    const env = { DATABASE_URL, SOURCE_MAIN_KEY: KEY, SOURCES_FILE: 'my settings/ours.json' };
    expect((await run(['uninstall', '--dry-run', '--json'], { env, cwd })).json().files).toEqual([file]);
    const { stdout } = await run(['uninstall', '--yes'], { env, cwd });
    expect(stdout).toContain(`the settings: rm -r '${file.replace("'", "'\\''")}'`);
  });
});
