import { randomBytes } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { createLog } from '../../src/log.ts';
import { openDatabase } from '../../src/warehouse/database/database.ts';
import { migrate } from '../../src/warehouse/database/migrate.ts';
import { ask } from '../support/ask.ts';
import { MIGRATIONS, type TestDatabase } from '../support/database.ts';
import { HOSTILE } from '../support/hostile-queries.ts';
import { asAdmin } from '../support/postgres.ts';
import { run, useBuild, withInstallation } from './run-command.ts';

useBuild();

/** A login that owns the database, as somebody else's server would give to Sluice; removed afterwards. */
async function createOwner(given: TestDatabase, attributes: string): Promise<{ url: string; name: string }> {
  const name = `owner_${randomBytes(4).toString('hex')}`;
  const database = new URL(given.url).pathname.slice(1);
  const { username } = new URL(given.url);
  await asAdmin(given.adminUrl, `create role ${name} login password 'pw-${name}' ${attributes}`);
  await asAdmin(given.adminUrl, `grant ${username} to ${name}`);
  await asAdmin(given.adminUrl, `alter database ${database} owner to ${name}`);
  await asAdmin(
    given.adminUrl,
    `do $$ declare r record; begin
    for r in select nspname from pg_namespace where nspname in ('sluice', 'warehouse') loop execute format('alter schema %I owner to ${name}', r.nspname); end loop;
    for r in select c.oid::regclass as t from pg_class c join pg_namespace n on n.oid = relnamespace where nspname in ('sluice', 'warehouse') and relkind = 'r' loop
      execute format('alter table %s owner to ${name}', r.t); end loop; end $$`,
  );
  await asAdmin(given.adminUrl, `revoke ${username} from ${name}`);
  // As on a server that nobody has closed.
  await asAdmin(
    given.adminUrl,
    `do $$ declare f regprocedure; begin
      for f in select oid from pg_proc where pronamespace = 'pg_catalog'::regnamespace and proname ~ '^(lo_c|lo_from|pg_(try_)?advisory|pg_logical_emit)'
      loop execute format('grant execute on function %s to public', f); end loop; end $$`,
  );
  const url = Object.assign(new URL(given.url), { username: name, password: `pw-${name}` }).href;
  const reader = `reader_${name}`;
  onTestFinished(async () => {
    for (const role of [reader, name])
      await asAdmin(given.adminUrl.replace(/\/[^/]*$/, '/postgres'), `drop role if exists ${role}`);
  });
  return { url, name };
}

/** So that the database and its roles can be dropped. */
async function release(given: TestDatabase, ...roles: string[]): Promise<void> {
  const { username, pathname } = new URL(given.url);
  await asAdmin(given.adminUrl, `alter database ${pathname.slice(1)} owner to ${username}`);
  for (const role of roles)
    await asAdmin(given.adminUrl, `reassign owned by ${role} to ${username}; drop owned by ${role}`);
}

test('grant creates a login that reads what is there and what will be, and shows its address once', async () => {
  await withInstallation({}, async ({ env, test: given }) => {
    const { url, name } = await createOwner(given, 'createrole');
    const reader = `reader_${name}`;
    const own = { ...env, DATABASE_URL: url };
    const before = await run(['sql', 'select current_user'], { env: own });
    expect([before.code, before.stderr]).toEqual([0, expect.stringContaining('Create one: sluice grant')]);
    expect((await run(['doctor'], { env: own })).stdout).toMatch(/reader +no login that may only read\n +Create one: /);

    const granted = (await run(['grant', reader, '--json'], { env: own })).json();
    expect(granted).toMatchObject({ login: reader, created: true, url: expect.stringContaining(`://${reader}:`) });
    expect(granted.revoked).toEqual([expect.stringContaining('temporary on database')]);
    expect(granted.open).toEqual([
      'revoke execute on function lo_creat(integer) from public',
      'revoke execute on function lo_create(oid) from public',
      'revoke execute on function lo_from_bytea(oid,bytea) from public',
      expect.stringMatching(/^revoke execute on function pg_logical_emit_message\(boolean,text,bytea.*\) from public$/),
      expect.stringMatching(/^revoke execute on function pg_logical_emit_message\(boolean,text,text.*\) from public$/),
    ]);
    for (const statement of granted.open) await asAdmin(given.adminUrl, statement);
    const again = await run(['grant', reader], { env: own });
    expect([again.code, again.stdout]).toEqual([0, expect.not.stringContaining('READER_DATABASE_URL')]);

    const reading = { ...own, READER_DATABASE_URL: granted.url };
    const after = await run(['sql', '--format', 'csv', 'select current_user'], { env: reading });
    expect([after.stdout, after.stderr]).toEqual([`current_user\r\n${reader}\r\n`, '']);
    // A machine where people only read.
    const only = await run(['sql', '--json', 'select count(*) as n from runs'], {
      env: { READER_DATABASE_URL: granted.url },
    });
    expect(only.json()).toEqual([{ n: 0 }]);
    expect((await run(['status'], { env: reading })).stdout).toContain(`psql "postgres://${reader}:***@`);
    expect((await run(['doctor'], { env: reading })).stdout).toContain(`sluice sql reads as ${reader}`);

    const log = createLog({ level: 'warn' });
    const database = await openDatabase({ url, applicationName: 'test', log });
    await migrate({ database, ...MIGRATIONS, schema: 'later' });
    await database.close();
    expect(await ask(granted.url, 'select count(*)::int as n from later.customers')).toEqual([{ n: 0 }]);
    for (const [what, ...queries] of HOSTILE)
      await expect(ask(granted.url, 'set default_transaction_read_only = off', ...queries), what).rejects.toMatchObject(
        {
          code: expect.stringMatching(/^(42501|42883|22023|42704|0A000)$/) as string,
        },
      );

    const renewed = (await run(['grant', reader, '--new-password', '--json'], { env: own })).json();
    expect(renewed).toMatchObject({ created: false, url: expect.not.stringContaining(new URL(granted.url).password) });
    await expect(ask(granted.url, 'select 1')).rejects.toMatchObject({ code: '28P01' });
    expect(await ask(renewed.url, 'select 1 as one')).toEqual([{ one: 1 }]);

    const { pathname } = new URL(url);
    await ask(
      renewed.url,
      'set default_transaction_read_only = off',
      "alter role current_user set statement_timeout = '1ms'",
      `alter role current_user in database ${pathname.slice(1)} set role = 'pg_monitor'`,
      "alter role current_user password 'taken'",
      'drop owned by current_user',
    );
    const restored = (await run(['grant', reader, '--new-password', '--json'], { env: own })).json();
    expect(
      await ask(
        restored.url,
        "select current_setting('statement_timeout') as most, count(*)::int as n from sluice.runs",
      ),
    ).toEqual([{ most: '1min', n: 0 }]);
    await release(given, reader, name);
  });
});

test('grant refuses logins that could do more, and says what an administrator runs where it may create none', async () => {
  await withInstallation({}, async ({ env, test: given }) => {
    const { url, name } = await createOwner(given, '');
    const own = { ...env, DATABASE_URL: url };
    const cannot = await run(['grant', `reader_${name}`], { env: own });
    expect([cannot.code, cannot.stderr]).toEqual([
      1,
      expect.stringContaining(
        `create role "reader_${name}" login password '...'; then repeat: sluice grant reader_${name}`,
      ),
    ]);
    await asAdmin(given.adminUrl, `create role reader_${name} login password 'x' in role pg_read_server_files`);
    const refused = await run(['grant', `reader_${name}`], { env: own });
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('is a member of pg_read_server_files')]);
    expect((await run(['grant', name], { env: own })).stderr).toContain('Sluice works as it');

    await asAdmin(given.adminUrl, `revoke pg_read_server_files from reader_${name}`);
    const granted = await run(['grant', `reader_${name}`], { env: own });
    expect([granted.code, granted.stderr]).toEqual([0, '']);
    await release(given, `reader_${name}`, name);
  });
});

test('a superuser in DATABASE_URL is warned about, and sql does not use its rights', async () => {
  await withInstallation({}, async ({ env, test: given }) => {
    const mighty = { ...env, DATABASE_URL: given.adminUrl };
    const { username } = new URL(given.adminUrl);
    const doctor = await run(['doctor'], { env: mighty });
    expect([doctor.code, doctor.stdout]).toEqual([0, expect.stringContaining(`the login ${username} is a superuser`)]);
    const { stderr } = await run(['sql', "do $$ begin copy (select 1) to program 'true'; end $$"], { env: mighty });
    expect(stderr).toMatch(/permission denied|must be superuser/);
  });
});

test('sql stops a query after --timeout seconds', async () => {
  await withInstallation({}, async ({ sluice }) => {
    const { code, stderr } = await sluice('sql', '--timeout', '1', 'select pg_sleep(600)');
    expect([code, stderr]).toEqual([1, expect.stringMatching(/stopped after 1 seconds?\.\n.*--timeout <seconds>/)]);
    expect((await sluice('sql', '--format', 'csv', 'show statement_timeout')).stdout).toContain('1min');
    expect((await sluice('sql', '--timeout', 'long', 'select 1')).code).toBe(2);
  });
});

test('an address without a host, as for a Unix socket, has the login and its password, too', async () => {
  await withInstallation({}, async ({ env, test: given }) => {
    const { url, name } = await createOwner(given, 'createrole');
    const { hostname: host, port, pathname, username: user, password } = new URL(url);
    const DATABASE_URL = `postgres://${pathname}?${new URLSearchParams({ host, port, user, password }).toString()}`;
    const reader = `reader_${name}`;
    const granted = (await run(['grant', reader, '--json'], { env: { ...env, DATABASE_URL } })).json();
    const asked = await run(['sql', '--json', 'select current_user as me'], {
      env: { READER_DATABASE_URL: granted.url },
    });
    expect(asked.json()).toEqual([{ me: reader }]);
    await release(given, reader, name);
  });
});
