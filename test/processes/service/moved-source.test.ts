import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { begin, KEY, run, until, useBuild, withInstallation } from '../../cli/run-command.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { long } from '../../support/long.ts';
import { doneSlots, RARELY } from './service-state.ts';

useBuild();
vi.setConfig({ testTimeout: 240_000 });

test('another installation is not read into the same tables, unless --moved says that only the address changed', async () => {
  await withInstallation({}, async ({ sandbox, database, env, sluice }) => {
    expect((await sluice('sync', 'customers')).code).toBe(0);
    const other = await openSandbox({ size: 'small', apiKey: sandbox.apiKey, rateLimit: 0 });
    const moved = { ...env, SOURCE_URL: other.url };
    const refused = await run(['sync', '--json'], { env: moved });
    expect(refused.code).toBe(2);
    expect(refused.json().error).toMatchObject({
      kind: 'configuration',
      message: expect.stringContaining(`was read from ${new URL(sandbox.url).host} so far`),
    });
    expect((await run(['start'], { env: moved })).code).toBe(2);
    expect(other.stats.total).toBe(0);
    expect((await run(['sync', 'customers', '--moved'], { env: moved })).code).toBe(0);
    expect((await run(['reset', 'customers', '--yes'], { env: moved })).code).toBe(0);
    const { rows } = await database.query('select source from sluice.sources');
    expect(rows).toEqual([]);
    await other.close();
  });
});

long('only the source that owns a schema reads or resets its rows', async () => {
  await withInstallation({}, async ({ sandbox, database, env, sluice }) => {
    expect((await sluice('sync', 'customers')).code).toBe(0);
    const other = await openSandbox({ size: 'small', seed: 2, apiKey: KEY, rateLimit: 0 });
    const cwd = mkdtempSync(join(tmpdir(), 'sluice-schema-'));
    const beside = (source: Record<string, string>, ...args: string[]) => {
      const described = { url: other.url, api_key_from: 'SOURCE_API_KEY', ...source };
      writeFileSync(join(cwd, 'sources.json'), JSON.stringify([described]));
      return run([...args, '--json'], { env, cwd });
    };
    const linz = { name: 'linz', schema: 'warehouse' };
    const message = expect.stringContaining('holds the rows of source "main"') as string;
    for (const args of [['sync'], ['start'], ['reset', 'customers', '--yes']]) {
      const { code, stdout, stderr } = await beside(linz, ...args);
      expect([args, code, stdout + stderr]).toEqual([args, 2, message]);
    }
    const renamed = await beside({ name: 'main', schema: 'books' }, 'reset', 'customers', '--yes');
    expect([renamed.code, renamed.json().error.message]).toEqual([
      2,
      'The rows of source "main" are in the schema "warehouse", but it is now configured for the schema "books".',
    ]);
    expect(other.stats.total).toBe(0);
    expect(await differences(database, sandbox, 5, ['customers'])).toEqual([]);
    expect((await sluice('reset', 'customers', '--yes')).code).toBe(0);
    expect((await beside(linz, 'sync', 'customers')).code).toBe(0);
    expect(await differences(database, other, 5, ['customers'])).toEqual([]);
    await other.close();
    rmSync(cwd, { recursive: true });
  });
});

long(
  'one source of several that is another installation is an incident until it is corrected; if all are, the service does not start',
  async () => {
    const options = { size: 'small', apiKey: KEY, rateLimit: 0 } as const;
    const sandboxes = await Promise.all([1, 2, 2].map(seed => openSandbox({ ...options, seed })));
    const [vienna, graz, other] = sandboxes.map(sandbox => sandbox.url) as [string, string, string];
    const cwd = mkdtempSync(join(tmpdir(), 'sluice-moved-'));
    const write = (...urls: [string, string]) =>
      writeFileSync(
        join(cwd, 'sources.json'),
        JSON.stringify(['vienna', 'graz'].map((name, at) => ({ name, url: urls[at], api_key_from: 'THE_KEY' }))),
      );
    await withDatabase(async (database, { url }) => {
      const env = { DATABASE_URL: url, THE_KEY: KEY, ...RARELY };
      const incidents = async () =>
        (
          await database.query<{ isOver: boolean }>(
            `select source, resource, kind, message, ended_at is not null as "isOver" from sluice.incidents`,
          )
        ).rows;
      write(vienna, graz);
      expect((await run(['sync', 'customers'], { env, cwd })).code).toBe(0);
      write(vienna, other);
      const service = begin(['start'], { env, cwd });
      await until(async () => (await doneSlots(database)) === 3 && (await incidents()).length > 0);
      const message = expect.stringContaining('Source "graz" was read from') as string;
      expect(await incidents()).toEqual([{ source: 'graz', resource: null, kind: 'failed', message, isOver: false }]);
      expect(sandboxes[2]?.stats.total).toBe(0);
      expect((await run(['sync', 'customers', '--source', 'graz', '--moved'], { env, cwd })).code).toBe(0);
      await until(async () => (await incidents()).every(({ isOver }) => isOver));
      service.child.kill('SIGTERM');
      const ended = await service.ended;
      expect([ended.code, ended.stderr]).toEqual([0, expect.stringContaining('Source \\"graz\\" was read from')]);

      write(graz, vienna);
      const { code, stderr } = await run(['start'], { env, cwd });
      expect(code).toBe(2);
      for (const name of ['vienna', 'graz'])
        expect(stderr).toMatch(new RegExp(`Source \\\\?"${name}\\\\?" was read from`));
    });
    for (const sandbox of sandboxes) await sandbox.close();
    rmSync(cwd, { recursive: true });
  },
);
