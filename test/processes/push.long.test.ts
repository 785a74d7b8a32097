import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { begin, run, until, useBuild, withInstallation } from '../cli/run-command.ts';
import { differences } from '../support/compare.ts';

useBuild();

const CUSTOMERS = 2500;
/** Batches that have arrived when the process is killed; the last one is unanswered. */
const KILLS = [7, 8, 21];

test('a push of 2,500 customers, killed three times, creates each once', { timeout: 180_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'push-kill-'));
  await withInstallation(
    { size: { customers: 150, invoices: 1, transactions: 1 }, latencyMs: 80 },
    async ({ sandbox, database, env, sluice }) => {
      const path = join(folder, 'customers.ndjson');
      const lines = Array.from({ length: CUSTOMERS }, (_, index) => ({
        account: `Pushed ${index}`,
        email: `p${index}@example.com`,
      }));
      writeFileSync(path, lines.map(line => `${JSON.stringify(line)}\n`).join(''));
      expect((await sluice('sync', 'customers')).code).toBe(0);

      // The push waits as long as the source could still carry out the killed request: twice the time-out.
      const settings = { ...env, SOURCE_TIMEOUT_SECONDS: '2' };
      const batches = () => sandbox.stats.requests.filter(request => request.path.includes('batch')).length;
      const doubtful: number[] = [];
      for (const arrived of KILLS) {
        const push = begin(['push', 'customers', path, '--yes'], { env: settings });
        await until(() => push.child.exitCode !== null || batches() >= arrived);
        push.child.kill('SIGKILL');
        expect((await push.ended).code).toBe(null);
        const { rows } = await database.query<{ count: number }>(
          `select count(*)::int as count from sluice.push_items where state = 'sent'`,
        );
        doubtful.push(rows[0]?.count ?? 0);
      }
      // At least one kill came between a request and its answer.
      expect(Math.max(...doubtful)).toBe(100);

      const last = await run(['push', 'customers', path, '--yes', '--json'], { env: settings });
      expect([last.code, last.json()]).toEqual([
        0,
        expect.objectContaining({
          lines: CUSTOMERS,
          created: CUSTOMERS,
          inWarehouse: CUSTOMERS,
          refused: [],
          unknown: [],
        }),
      ]);
      const pushed = [...sandbox.rows('customers')]
        .map(row => row.account)
        .filter(account => account.startsWith('Pushed'));
      expect([pushed.length, new Set(pushed).size]).toEqual([CUSTOMERS, CUSTOMERS]);
      const different = await differences(database, sandbox, Number.POSITIVE_INFINITY);
      expect(different.filter(text => text.startsWith('customers'))).toEqual([]);
      // Records known to be created were not sent again; unknown ones were looked up.
      expect(batches()).toBeLessThanOrEqual(CUSTOMERS / 100 + KILLS.length);

      const { rows } = await database.query(
        'select state, count(*)::int as count from sluice.pushes group by 1 order by 1',
      );
      expect(rows).toEqual([
        { state: 'done', count: 1 },
        { state: 'stopped', count: KILLS.length },
      ]);
    },
  );
  rmSync(folder, { recursive: true });
});
