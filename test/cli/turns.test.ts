import pLimit from 'p-limit';
import { expect, test } from 'vitest';
import { openSandbox, type Sandbox } from '../../sandbox/sandbox.ts';
import { completeOrders } from '../../src/cli/run/complete-orders.ts';
import type { OpenSource, Session } from '../../src/cli/session/session.ts';
import { MINUTE } from '../../src/clock.ts';
import { readConfig } from '../../src/config/read-config.ts';
import { createLog } from '../../src/log.ts';
import { migrate } from '../../src/warehouse/database/migrate.ts';
import { MIGRATIONS, withDatabase } from '../support/database.ts';
import { JOBS, type TestResource } from '../support/resources.ts';
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
    for (const schema of ['vienna', 'graz']) await migrate({ database, ...MIGRATIONS, schema });
    const sync = async ({ url, apiKey }: Sandbox, name: string, resource: TestResource, limit: number) => {
      const settings = readConfig({
        environment: {
          ...{ SOURCE_URL: url, SOURCE_API_KEY: apiKey, SOURCE_LAG_SECONDS: '0', SOURCE_PAGE_SIZE: '100' },
          WAREHOUSE_SCHEMA: name,
          ...{ SOURCE_RATE_LIMIT: String(limit), SOURCE_RATE_WINDOW_SECONDS: '600' },
        },
        directory: import.meta.dirname,
        needsSource: true,
        resources: [],
      });
      const session = {
        ...{ terminal: { note: () => undefined }, command: 'sync', clock, settings },
        jobs: new Map([[resource, JOBS[resource]]]),
        signal: new AbortController().signal,
        log: createLog({ level: 'silent' }),
      } as unknown as Session;
      const results = await completeOrders(
        {
          ...{ session, database, noWait: false, inTurn },
          source: { ...settings.sources[0], name } as OpenSource,
          progress: { onEvent: () => undefined, update: () => undefined, waiting: () => undefined },
        },
        [{ resource, kind: 'sync' }],
      );
      ended.push(`${name} ${results[0]?.order.state}`);
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
