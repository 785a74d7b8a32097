import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { openSandbox } from '../../sandbox/sandbox.ts';
import { begin, KEY, run, until, useBuild } from '../cli/run-command.ts';
import { withDataDir } from './own-server.ts';

useBuild();
vi.setConfig({ testTimeout: 240_000 });

const SOURCES = 12;

test('more sources than the embedded Postgres has connections for are read in turn, and Ctrl-C ends all of them', async () => {
  const sandbox = await openSandbox({ size: 'small', apiKey: KEY, rateLimit: 0, latencyMs: 100 });
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-many-'));
  const names = Array.from({ length: SOURCES }, (_, index) => `s${index + 1}`);
  const described = names.map(name => ({ name, url: sandbox.url, api_key_from: 'THE_KEY', rate_limit: 100_000 }));
  writeFileSync(join(cwd, 'sources.json'), JSON.stringify(described));
  await withDataDir(async dataDir => {
    const env = { THE_KEY: KEY, SLUICE_DATA_DIR: dataDir };
    const sync = await run(['sync', 'customers', '--json'], { env, cwd });
    expect([sync.code, sync.stderr]).toEqual([0, expect.stringContaining(`Reading 7 of ${SOURCES} sources at a time`)]);
    const { resources } = sync.json() as { resources: { source: string; new: number }[] };
    expect(resources.map(each => [each.source, each.new])).toEqual(names.map(name => [name, 150]));

    const asked = sandbox.stats.total;
    const stopped = begin(['sync', 'invoices'], { env, cwd });
    await until(() => sandbox.stats.total > asked);
    stopped.child.kill('SIGINT');
    expect(await stopped.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('Stopped on request.') });
    // Seven sources ask four things at a time.
    expect(sandbox.stats.total - asked).toBeLessThan(40);
  });
  await sandbox.close();
  rmSync(cwd, { recursive: true });
});
