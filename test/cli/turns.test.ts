import pLimit from 'p-limit';
import { expect, test } from 'vitest';
import { openSandbox, type Sandbox } from '../../sandbox/sandbox.ts';
import { completeOrders } from '../../src/cli/run/read-source.ts';
import type { Terminal } from '../../src/cli/session/terminal.ts';
import { MINUTE } from '../../src/clock.ts';
import { withDatabase } from '../support/database.ts';
import type { TestResource } from '../support/resources.ts';
import { openEngine } from '../support/source.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { until } from './run-command.ts';

test('a source that waits for its request limit lets the next source have its turn, and continues afterwards', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const begunAt = clock.now();
    const vienna = await openSandbox({ clock, apiKey: 'key-vienna' });
    const graz = await openSandbox({ clock, apiKey: 'key-graz' });
    const inTurn = pLimit(1);
    const ended: string[] = [];
    const sync = async (sandbox: Sandbox, source: string, resource: TestResource, limit: number) => {
      const openIts = async () => {
        const engine = await openEngine(database, sandbox, {
          clock,
          limit,
          windowMs: 10 * MINUTE,
          resources: [resource],
          pageSize: 100,
        });
        return { ...engine, source, resources: engine.resources.map(each => ({ ...each, source })) };
      };
      const results = await completeOrders(
        {
          terminal: { note: () => undefined } as unknown as Terminal,
          database,
          source,
          timeZone: 'UTC',
          clock,
          signal: new AbortController().signal,
          noWait: false,
          progress: { onEvent: () => undefined, update: () => undefined, waiting: () => undefined },
          inTurn,
          command: 'sync',
          isServiceRunning: async () => false,
          openEngine: openIts,
        },
        [{ resource, kind: 'sync' }],
      );
      ended.push(`${source} ${results[0]?.order.state}`);
      return clock.now() - begunAt;
    };
    const held = sync(vienna, 'vienna', 'invoices', 5);
    await until(() => vienna.stats.total > 0);
    await sync(graz, 'graz', 'customers', 1000);
    const heldMs = await held;
    expect(ended).toEqual(['graz done', 'vienna done']);
    expect(heldMs).toBeGreaterThan(10 * MINUTE);
    await vienna.close();
    await graz.close();
  });
});
