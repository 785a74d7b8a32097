import { expect, test } from 'vitest';
import { limitConnections } from '../../src/cli/run/read-source.ts';
import { readerConnections, serviceReader } from '../../src/cli/run/service-reader.ts';
import type { Session } from '../../src/cli/session/session.ts';
import { type Database, openDatabase } from '../../src/warehouse/database/database.ts';
import { withReader } from '../service/with-reader.ts';
import { silent } from '../service/with-service.ts';
import { withDatabase } from '../support/database.ts';
import { begin, run, until, useBuild, withInstallation } from './run-command.ts';

useBuild();

const settings = { databaseUrl: 'postgres://owner', readerUrl: 'postgres://reader' } as Session['settings'];

/** The reader of a service, which is opened at these addresses in turn. */
function readerAt(owner: Database, ...urls: string[]) {
  const opened: Database[] = [];
  const session = {
    settings,
    async openReader({ most: max }: { most?: number } = {}) {
      const url = urls.shift() ?? '';
      const database = await openDatabase({ url, applicationName: 'test reader', log: silent, max });
      opened.push(database);
      return Object.assign(database, { url, readerUrl: url });
    },
  };
  return {
    open: serviceReader(session, owner),
    async close() {
      for (const each of opened) await each.close();
    },
  };
}

test('a service runs no query as the owner or a superuser, and its reader takes few connections', async () => {
  await withDatabase(async (owner, given) => {
    for (const [url, text] of [
      [given.adminUrl, 'is a superuser of the database server'],
      [given.url, 'is the one of DATABASE_URL, which may write'],
    ] as const) {
      const reader = readerAt(owner, url);
      for (const _ of [1, 2])
        await expect(reader.open()).rejects.toMatchObject({
          kind: 'configuration',
          message: expect.stringContaining(text) as string,
          next: 'Create another: sluice grant',
        });
      await reader.close();
    }
    await withReader(owner, given, async (_, address) => {
      const reader = readerAt(owner, address);
      const database = await reader.open();
      expect(database?.pool.options.max).toBe(readerConnections(settings));
      expect(await reader.open()).toBe(database);
      await reader.close();
    });
    const none = { ...settings, readerUrl: null };
    const openReader = () => Promise.reject(new Error('opened'));
    expect(await serviceReader({ settings: none, openReader }, owner)()).toBeNull();
    expect(readerConnections(none)).toBe(0);
  });
});

test('what a service takes of the connections of Postgres has its reader in it', async () => {
  await withDatabase(async database => {
    const { rows } = await database.query<{ most: number }>("select current_setting('max_connections')::int as most");
    const most = Math.floor(0.3 * (rows[0]?.most ?? 0));
    for (const others of [0, 5]) {
      const atOnce = await limitConnections(database, 1000, others);
      const listening = 1;
      const taken = atOnce + listening + database.pool.options.max + others;
      expect([others, taken <= most, taken >= most - 2]).toEqual([others, true, true]);
    }
  });
});

test('start warns of a superuser as the reader, and doctor fails for the owner in its place', async () => {
  await withInstallation({}, async ({ env, test: given }) => {
    const mighty = { ...env, SLUICE_PORT: '0', READER_DATABASE_URL: given.adminUrl };
    const service = begin(['start'], { env: mighty });
    await until(() => service.stderr().includes('sluice is running'));
    const url = /"url":"(http:[^"]+)"/.exec(service.stderr())?.[1];
    const answer = await fetch(`${url}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ sql: 'select 1' }),
    });
    expect([answer.status, await answer.json()]).toEqual([
      503,
      { error: expect.stringContaining('is a superuser') as string, next: 'Create another: sluice grant' },
    ]);
    service.child.kill('SIGTERM');
    const { code, stderr } = await service.ended;
    const warnings = stderr.split('\n').filter(line => line.includes('the login for queries cannot be used'));
    expect([code, warnings]).toEqual([0, [expect.stringContaining('is a superuser of the database server')]]);

    const doctor = await run(['doctor'], { env: { ...env, READER_DATABASE_URL: given.url } });
    expect([doctor.code, doctor.stdout]).toEqual([1, expect.stringContaining('is the one of DATABASE_URL')]);
  });
}, 60_000);
