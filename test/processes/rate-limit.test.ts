import { expect, test, vi } from 'vitest';
import type { SandboxOptions } from '../../sandbox/sandbox.ts';
import { begin, type Ended, type Running, until, useBuild, withInstallation } from '../cli/run-command.ts';
import { differences } from '../support/compare.ts';
import { long } from '../support/long.ts';
import { MAIN } from '../support/resources.ts';
import { inSchema } from './in-schema.ts';

useBuild();
vi.setConfig({ testTimeout: 180_000 });

const RATE_LIMIT = 50;
const WINDOW_SECONDS = 10;
const SOURCE: SandboxOptions = {
  rateLimit: RATE_LIMIT,
  rateWindowMs: WINDOW_SECONDS * 1000,
  variants: { 'rate-window': 'sliding', 'rejected-count': 'yes' },
  today: '2026-03-15',
};
const LIMITS = {
  SOURCE_RATE_LIMIT: String(RATE_LIMIT),
  SOURCE_RATE_WINDOW_SECONDS: String(WINDOW_SECONDS),
  // A killed process's requests count until their time-out, plus one window.
  SOURCE_TIMEOUT_SECONDS: '3',
};

test.concurrent('three processes on one source, one of them killed and restarted, never exceed its limit, and all finish', async () => {
  await withInstallation(
    { ...SOURCE, size: { customers: 2000, invoices: 2000, transactions: 2000 } },
    async ({ sandbox, database, env }) => {
      const start = (resource: string) => begin(['sync', resource, '--json'], { env: { ...env, ...LIMITS } });
      const resources = ['customers', 'invoices', 'transactions'];
      const processes = new Map(resources.map(resource => [resource, start(resource)]));
      await until(() => sandbox.stats.total >= 20);
      // The process that is reading.
      const reader = resources.find(resource => sandbox.stats.requests.at(-1)?.path.includes(resource)) as string;
      await kill(processes.get(reader));
      processes.set(reader, start(reader));

      for (const [resource, { ended }] of processes) expectDone(await ended, resource);
      expect(await differences(database, sandbox)).toEqual([]);
      expect(sandbox.stats).toMatchObject({ rejected: 0, failures: [] });
      expect(sandbox.stats.maxInWindow).toBeLessThanOrEqual(RATE_LIMIT);
      // Otherwise the limit was never reached.
      expect(sandbox.stats.total).toBeGreaterThan(RATE_LIMIT);
    },
  );
});

long.concurrent(
  'three processes that read at the same time with one key, one of them killed and restarted, share its limit',
  async () => {
    await withInstallation(
      { ...SOURCE, size: { customers: 700, invoices: 700, transactions: 700 } },
      async ({ sandbox, database, env }) => {
        const start = (schema: string) =>
          begin(['sync', ...MAIN, '--json'], { env: { ...env, ...LIMITS, WAREHOUSE_SCHEMA: schema } });
        const schemas = ['warehouse', 'second', 'third'];
        const processes = new Map(schemas.map(schema => [schema, start(schema)]));
        await until(async () => {
          const { rows } = await database.query('select source from sluice.requests group by 1');
          return rows.length === schemas.length;
        });
        await kill(processes.get('second'));
        processes.set('second', start('second'));

        for (const [schema, { ended }] of processes) {
          expectDone(await ended, schema);
          expect(await differences(inSchema(database, schema), sandbox)).toEqual([]);
        }
        expect(sandbox.stats).toMatchObject({ rejected: 0, failures: [] });
        expect(sandbox.stats.maxInWindow).toBeLessThanOrEqual(RATE_LIMIT);
        // Otherwise the limit was never reached.
        expect(sandbox.stats.total).toBeGreaterThan(RATE_LIMIT);
      },
    );
  },
);

async function kill(running: Running | undefined): Promise<void> {
  expect(running?.child.kill('SIGKILL')).toBe(true);
  expect((await running?.ended)?.code).toBe(null);
}

function expectDone(ended: Ended, what: string): void {
  expect([what, ended.code, ended.stderr]).toEqual([what, 0, expect.any(String)]);
  for (const { state } of ended.json().resources) expect(state).toBe('done');
}
