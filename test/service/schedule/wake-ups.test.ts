import { expect, test, vi } from 'vitest';
import { createLog } from '../../../src/log.ts';
import { startWakeUps, wakeUp } from '../../../src/service/schedule/wake-ups.ts';
import { withDatabase } from '../../support/database.ts';

vi.setConfig({ testTimeout: 60_000 });

test('at most the allowed number of sources is awake at once, and each gets its turn', async () => {
  await withDatabase(async database => {
    const sources = Array.from({ length: 12 }, (_, index) => `source_${index}`);
    const woken: string[] = [];
    let awake = 0;
    let most = 0;
    const wakeUps = await startWakeUps({
      database,
      sources,
      most: 3,
      wake: async source => {
        most = Math.max(most, ++awake);
        await database.query('select pg_sleep(0.05)');
        awake--;
        woken.push(source);
        return null;
      },
      log: createLog({ level: 'silent', secrets: [] }),
    });
    await vi.waitFor(() => expect(new Set(woken).size).toBe(sources.length), { timeout: 30_000 });
    await wakeUps.stop();
    expect(most).toBe(3);
  });
});

test('a source that is woken again while it waits for its turn keeps its place', async () => {
  await withDatabase(async database => {
    const woken: string[] = [];
    let begin: () => void = () => undefined;
    const begun = new Promise<void>(resolve => {
      begin = resolve;
    });
    const wakeUps = await startWakeUps({
      database,
      sources: ['a', 'b', 'c', 'd', 'e'],
      most: 1,
      wake: async source => {
        woken.push(source);
        await begun;
        return null;
      },
      log: createLog({ level: 'silent', secrets: [] }),
    });
    const queued = async () => {
      const { rows } = await database.query<{ key: string }>(
        'select key from graphile_worker.jobs order by run_at, id',
      );
      return rows.map(row => row.key).join();
    };
    await vi.waitFor(async () => expect(await queued()).toBe('a,b,c,d,e'), { timeout: 30_000 });
    await wakeUp(database, 'c');
    expect(await queued()).toBe('a,b,c,d,e');
    begin();
    await vi.waitFor(() => expect(woken.length).toBeGreaterThanOrEqual(5), { timeout: 30_000 });
    await wakeUps.stop();
    // The queue hands out what is due at once in nearly this order; that none comes twice before all came once is what counts.
    expect(woken.slice(0, 5).sort().join()).toBe('a,b,c,d,e');
  });
});

test('with one turn for two sources, a source with endless work ends its turn and queues again', async () => {
  await withDatabase(async database => {
    const woken: string[] = [];
    const wakeUps = await startWakeUps({
      database,
      sources: ['a', 'b'],
      most: 1,
      turnMs: 0,
      wake: async (source, turn) => {
        woken.push(source);
        // Only the other source's waiting ends it.
        if (woken.length <= 6 && !turn.signal.aborted)
          await new Promise<void>(resolve => turn.signal.addEventListener('abort', () => resolve(), { once: true }));
        return null;
      },
      log: createLog({ level: 'silent', secrets: [] }),
    });
    await vi.waitFor(() => expect(woken.length).toBeGreaterThanOrEqual(7), { timeout: 50_000 });
    await wakeUps.stop();
    const turns = woken.slice(0, 6).join('');
    expect(['ababab', 'bababa']).toContain(turns);
  });
});

test('a process takes no wake-ups of sources that only others serve', async () => {
  await withDatabase(async database => {
    const woken: string[] = [];
    const wakeUps = await startWakeUps({
      database,
      sources: ['a'],
      most: 1,
      wake: async source => {
        woken.push(source);
        return null;
      },
      log: createLog({ level: 'silent', secrets: [] }),
    });
    await wakeUp(database, 'b');
    for (let times = 1; times <= 3; times++) {
      await wakeUp(database, 'a');
      await vi.waitFor(() => expect(woken.length).toBeGreaterThanOrEqual(times), { timeout: 30_000 });
    }
    const { rows } = await database.query("select key from graphile_worker.jobs where key = 'b'");
    await wakeUps.stop();
    expect([rows, new Set(woken)]).toEqual([[{ key: 'b' }], new Set(['a'])]);
  });
});

test('a process that stops hands over its wake-ups and takes no more', async () => {
  await withDatabase(async database => {
    const woken: string[] = [];
    let finish: () => void = () => undefined;
    const finished = new Promise<void>(resolve => {
      finish = resolve;
    });
    const wakeUps = await startWakeUps({
      database,
      sources: ['a', 'b', 'c'],
      most: 1,
      wake: async source => {
        woken.push(source);
        await finished;
        return null;
      },
      log: createLog({ level: 'silent', secrets: [] }),
    });
    await vi.waitFor(() => expect(woken.length).toBe(1), { timeout: 30_000 });
    const stopping = wakeUps.stop();
    finish();
    await stopping;
    const { rows } = await database.query('select key from graphile_worker.jobs where locked_at is null order by key');
    expect([rows.map(row => row.key), woken.length]).toEqual([['a', 'b', 'c'], 1]);
  });
});

test('jobs that killed processes had locked delay no wake-up, and are deleted once the queue has unlocked them', async () => {
  await withDatabase(async database => {
    const woken: string[] = [];
    const wake = async (source: string) => {
      woken.push(source);
      return null;
    };
    const log = createLog({ level: 'silent', secrets: [] });
    const start = () => startWakeUps({ database, sources: ['a'], most: 1, wake, log });
    await (await start()).stop();
    await database.query('delete from graphile_worker._private_jobs');
    for (let killed = 0; killed < 20; killed++) {
      await wakeUp(database, 'a');
      // After four hours, graphile-worker unlocks them.
      const lockedAt = killed < 15 ? 'null' : 'now()';
      await database.query(
        `update graphile_worker._private_jobs set attempts = 1, locked_at = ${lockedAt}, locked_by = 'killed' where key = 'a'`,
      );
    }
    woken.length = 0;
    const wakeUps = await start();
    await vi.waitFor(() => expect(woken).toContain('a'), { timeout: 30_000 });
    await wakeUps.stop();
    const { rows } = await database.query<{ n: number }>(
      "select count(*)::int as n from graphile_worker._private_jobs where locked_by = 'killed'",
    );
    expect(rows).toEqual([{ n: 5 }]);
  });
});
