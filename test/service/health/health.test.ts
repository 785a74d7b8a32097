import { expect, test } from 'vitest';
import { readDue } from '../../../src/cli/run/read-due.ts';
import type { OpenSource, Session } from '../../../src/cli/session/session.ts';
import { systemClock } from '../../../src/clock.ts';
import { newMemory } from '../../../src/engine/run/agenda.ts';
import { createPulse } from '../../../src/service/health/health.ts';
import { pendingMigrations } from '../../../src/warehouse/database/migrate.ts';
import { createTestDatabase, MIGRATIONS } from '../../support/database.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { openProxy } from '../../warehouse/proxy.ts';
import { ask, silent, withService } from '../with-service.ts';

test('healthz reports a stalled sync loop; readyz reports an unreachable database and pending migrations', async () => {
  const empty = await createTestDatabase({ empty: true });
  const database = await empty.open();
  let now = 0;
  const pulse = createPulse(1000, () => now);
  const pending = () => pendingMigrations({ database, ...MIGRATIONS });
  await withService(database, { pulse, pending }, async ({ url }) => {
    pulse.beat('main');
    now = 1000;
    expect((await ask(`${url}/healthz`)).status).toBe(200);
    now = 1001;
    expect(await ask(`${url}/healthz`)).toMatchObject({ status: 503, text: 'Sync loop stalled: main\n' });
    pulse.beat('main');
    expect((await ask(`${url}/healthz`)).status).toBe(200);
    pulse.rest('main');
    now = 1_000_000;
    expect((await ask(`${url}/healthz`)).status).toBe(200);

    const unready = await ask(`${url}/readyz`);
    expect([unready.status, unready.text]).toEqual([503, expect.stringContaining('sluice migrate')]);
    await database.close();
    expect(await ask(`${url}/readyz`)).toMatchObject({ status: 503 });
    expect((await ask(`${url}/healthz`)).status).toBe(200);
  });
  await empty.drop();
});

test('a loop that fails to use the database for as long at every attempt is stalled, until the database answers again', () => {
  let now = 0;
  const pulse = createPulse(1000, () => now);
  const failAt = (at: number) => {
    now = at;
    pulse.fail('main');
    pulse.rest('main');
  };
  failAt(100);
  // Since then other sources had their turns.
  now = 5000;
  expect(pulse.stalled()).toEqual([]);
  failAt(1100);
  expect(pulse.stalled()).toEqual([]);
  failAt(1101);
  expect(pulse.stalled()).toEqual(['main']);
  pulse.beat('main');
  expect(pulse.stalled()).toEqual([]);
  failAt(1102);
  expect(pulse.stalled()).toEqual([]);
});

test('turns that cannot use the database are no sign of life', async () => {
  const test = await createTestDatabase();
  const proxy = await openProxy();
  const database = await proxy.open(test);
  let now = 0;
  const pulse = createPulse(1000, () => now);
  const session = { clock: systemClock, log: silent, draining: new AbortController().signal } as unknown as Session;
  const turn = { pulse, memory: newMemory(), turn: { isAwaited: () => false, onWoken: () => undefined } };
  const stopped = proxy.close();
  proxy.drop();
  await stopped;
  for (now of [100, 600, 1101]) {
    expect(pulse.stalled()).toEqual([]);
    await expect(readDue(session, database, { name: 'main' } as OpenSource, turn)).rejects.toThrow('database');
  }
  expect(pulse.stalled()).toEqual(['main']);
  await database.close();
  await test.drop();
});

test('readyz shows nobody the host or the name of the database; the log does, once for each reason', async () => {
  const test = await createTestDatabase();
  const proxy = await openProxy();
  const database = await proxy.open(test);
  const { log, lines } = createLogLines('info');
  const token = 'a-token-of-the-service';
  const pending = () => pendingMigrations({ database, ...MIGRATIONS });
  await withService(database, { token, log, pending }, async ({ url }) => {
    expect((await ask(`${url}/readyz`)).text).toBe('ok\n');
    const stopped = proxy.close();
    proxy.drop();
    await stopped;
    for (const headers of [{}, { authorization: `Bearer ${token}` }])
      expect(await ask(`${url}/readyz`, { headers })).toMatchObject({
        status: 503,
        text: 'The database cannot be used. The log says why.\n',
      });
  });
  const [host, name] = database.place.split('/') as [string, string];
  expect(lines.filter(line => line.includes(host) && line.includes(name))).toHaveLength(1);
  await database.close();
  await test.drop();
});
