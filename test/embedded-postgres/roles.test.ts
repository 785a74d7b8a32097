import { chmod, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { embeddedStatus, isEmbedded, openEmbedded, stopEmbedded } from '../../src/embedded-postgres/embedded-server.ts';
import { createLog } from '../../src/log.ts';
import { openDatabase } from '../../src/warehouse/database/database.ts';
import { migrate } from '../../src/warehouse/database/migrate.ts';
import { ask, withClient } from '../support/ask.ts';
import { MIGRATIONS } from '../support/database.ts';
import { HOSTILE } from '../support/hostile-queries.ts';
import { adminOf } from '../support/postgres.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const log = createLog({ level: 'error' });
const settings = { fsync: 'off', shared_buffers: '16MB' };
const open = () => openEmbedded({ dataDir, log, settings });
const inDatabase = (url: string, name: string) => Object.assign(new URL(url), { pathname: `/${name}` }).href;

let dataDir = '';
let url = '';
let readerUrl = '';
let adminUrl = '';

async function fill(address: string, schema = 'warehouse'): Promise<void> {
  const database = await openDatabase({ url: address, applicationName: 'test', log });
  await migrate({ database, ...MIGRATIONS, schema });
  await database.close();
}

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'sluice-roles-'));
  await chmod(dataDir, 0o755);
  ({ url, readerUrl } = await open());
  adminUrl = await adminOf(url, dataDir);
  await fill(url);
});

afterAll(async () => {
  await stopEmbedded(dataDir);
  await rm(dataDir, { recursive: true, force: true });
});

test('an address of the server is recognised on whatever port, and no other is', async () => {
  const moved = Object.assign(new URL(readerUrl), { port: '1' }).href;
  const another = Object.assign(new URL(readerUrl), { password: 'another' }).href;
  const addresses = [readerUrl, url, moved, another, 'postgres://sluice_reader@127.0.0.1/sluice'];
  expect(await Promise.all(addresses.map(each => isEmbedded(dataDir, each)))).toEqual([true, true, true, false, false]);
  expect(await isEmbedded(join(dataDir, 'absent'), readerUrl)).toBe(false);
});

const ROLES = `
  select rolname as name, rolsuper or rolcreaterole or rolreplication or rolbypassrls as mighty, rolcreatedb as creates,
    array(select roleid::regrole::text from pg_auth_members where member = r.oid) as groups
  from pg_roles r where rolname ~ '^sluice' order by rolname`;

const EXPECTED_ROLES = [
  { name: 'sluice', mighty: false, creates: true, groups: ['sluice_reader'] },
  { name: 'sluice_admin', mighty: true, creates: true, groups: [] },
  { name: 'sluice_reader', mighty: false, creates: false, groups: [] },
];

test('Sluice works as an owner that is no superuser, and people read as a login that owns nothing', async () => {
  expect(await ask(url, 'select current_user as me')).toEqual([{ me: 'sluice' }]);
  expect(await ask(readerUrl, 'select session_user as me')).toEqual([{ me: 'sluice_reader' }]);
  expect(await ask(url, ROLES)).toEqual(EXPECTED_ROLES);
  expect(
    await ask(
      adminUrl,
      "select count(*)::int as owned from pg_shdepend where refobjid = 'sluice_reader'::regrole and deptype = 'o'",
    ),
  ).toEqual([{ owned: 0 }]);
});

test('the reader sees all tables, also of schemas that are made later, but not the secret addresses for webhooks', async () => {
  await fill(url, 'graz');
  const hidden = `
    select format('%s.%s', nspname, relname) as name from pg_class c join pg_namespace n on n.oid = relnamespace
    where relkind in ('r', 'v') and nspname in ('warehouse', 'sluice', 'graz')
      and not (has_schema_privilege('sluice_reader', n.oid, 'usage') and has_table_privilege('sluice_reader', c.oid, 'select'))`;
  expect(await ask(url, hidden)).toEqual([{ name: 'sluice.receivers' }]);
  expect(await ask(readerUrl, 'select count(*)::int as n from graz.customers')).toEqual([{ n: 0 }]);
  expect(await ask(readerUrl, 'select sluice.now() is not null as now')).toEqual([{ now: true }]);
});

test.each(HOSTILE)('the reader cannot: %s', async (_what, ...queries) => {
  const before = await witness();
  await expect(ask(readerUrl, 'set default_transaction_read_only = off', ...queries)).rejects.toMatchObject({
    code: expect.stringMatching(/^(42501|42883|0A000)$/),
  });
  expect(await witness()).toEqual(before);
});

const witness = () =>
  ask(
    adminUrl,
    `select (select count(*)::int from pg_class where relnamespace <> 'pg_toast'::regnamespace) as relations,
       (select count(*)::int from pg_largeobject_metadata) as objects, (select count(*)::int from warehouse.customers) as rows,
       (select count(*)::int from pg_proc) as functions, (select count(*)::int from pg_roles) as roles`,
  );

test('the reader gets into no other database and takes no lock that Sluice relies on', async () => {
  for (const name of ['postgres', 'template1'])
    await expect(ask(inDatabase(readerUrl, name), 'select 1')).rejects.toMatchObject({ code: '42501' });
  await expect(ask(readerUrl, 'select pg_advisory_lock(1936487779, 1)')).rejects.toMatchObject({ code: '42501' });
  const asOwner = new URL(readerUrl);
  for (const name of ['sluice', 'sluice_admin']) {
    asOwner.username = name;
    await expect(ask(asOwner.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
  }
});

test('the owner drops a database that readers are connected to, as a new demo does', async () => {
  await ask(url, 'create database sluice_demo');
  await withClient(inDatabase(readerUrl, 'sluice_demo'), async () => {
    await ask(url, 'drop database sluice_demo with (force)');
  });
});

const LOCK_OUTS: readonly (readonly [what: string, query: string])[] = [
  ['its own password', "alter role current_user password 'taken'"],
  ['its own time-out', "alter role current_user set statement_timeout = '1ms'"],
  ['its own settings of one database', "alter role current_user in database sluice set statement_timeout = '1ms'"],
  ['what its sessions load', "alter role current_user set local_preload_libraries = 'absent'"],
  ['where its sessions look for tables', "alter role current_user set search_path = 'pg_temp'"],
  ['its own settings to none', 'alter role current_user reset all'],
  ['its grants on later tables', 'drop owned by current_user'],
];

test.each(LOCK_OUTS)('a reader that changes %s locks out nobody beyond the next command', async (_what, query) => {
  const settings = `select current_setting('statement_timeout') as time, current_setting('default_transaction_read_only') as reads,
    current_setting('idle_in_transaction_session_timeout') as idle, current_setting('temp_file_limit') as disk,
    current_setting('search_path') as path`;
  const before = await ask(readerUrl, settings);
  expect(before).toEqual([{ time: '1min', reads: 'on', idle: '2min', disk: '4GB', path: '"$user", public' }]);
  await ask(readerUrl, 'set default_transaction_read_only = off', query);
  expect(await open()).toMatchObject({ readerUrl, started: false });
  expect(await ask(readerUrl, settings)).toEqual(before);
  expect(await ask(readerUrl, 'select count(*)::int as n from warehouse.customers')).toEqual([{ n: 0 }]);
  await fill(url, 'later');
  expect(await ask(readerUrl, 'select count(*)::int as n from later.customers')).toEqual([{ n: 0 }]);
});

test('nothing is set up again while the reader is as it should be', async () => {
  await open();
  const before = await ask(adminUrl, "select xmin from pg_authid where rolname = 'sluice_reader'");
  await open();
  expect(await ask(adminUrl, "select xmin from pg_authid where rolname = 'sluice_reader'")).toEqual(before);
});

test('the reader exports no snapshot, each of which is a file', async () => {
  await expect(ask(readerUrl, 'select pg_export_snapshot()')).rejects.toMatchObject({ code: '42501' });
  expect(await ask(url, 'select pg_export_snapshot() is not null as exported')).toEqual([{ exported: true }]);
});

test('a lost reader is set up again', async () => {
  await ask(adminUrl, 'drop owned by sluice_reader', 'drop role sluice_reader');
  expect((await open()).readerUrl).toBe(readerUrl);
  expect(await ask(readerUrl, 'select count(*)::int as n from warehouse.customers')).toEqual([{ n: 0 }]);
});

test('an owner that somebody made a superuser is none any more', async () => {
  await ask(adminUrl, 'alter role sluice superuser');
  await open();
  expect(await ask(url, ROLES)).toEqual(EXPECTED_ROLES);
});

test('without the password of the superuser, as in a cluster of version 0.1, nothing is set up, and the next step is said', async () => {
  const { home } = await embeddedStatus(dataDir);
  const [admin, reader] = [join(home, 'admin-password'), join(home, 'reader-password')];
  for (const file of [admin, reader]) await rename(file, `${file}.kept`);
  const refused = (reason: string) => ({
    kind: 'database',
    message: `The embedded Postgres needs ${admin}, which ${reason}.`,
    next: expect.stringMatching(/Restore it from a backup.* of version 0\.2 once\./),
  });
  await expect(open()).rejects.toMatchObject(refused('is absent'));
  await writeFile(admin, 'guessed', { mode: 0o600 });
  await expect(open()).rejects.toMatchObject(refused('holds another password'));
  for (const file of [admin, reader]) await rename(`${file}.kept`, file);
  expect(await open()).toMatchObject({ url, readerUrl, started: false });
});
