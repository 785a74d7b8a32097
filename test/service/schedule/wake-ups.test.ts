import { expect, test, vi } from 'vitest';
import { MINUTE } from '../../../src/clock.ts';
import { createLog } from '../../../src/log.ts';
import { startWakeUps, wakeUp } from '../../../src/service/schedule/wake-ups.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { withDatabase } from '../../support/database.ts';

const log = createLog({ level: 'silent' });
const PATIENCE = { timeout: 60_000 };

/** A process that serves `sources`. `finish` ends the turns that are held open. */
function startProcess(
  database: Database,
  sources: readonly string[],
  { holds = false, finds = null as 'elsewhere' | null, elsewhereMs = MINUTE, takeOverMs = MINUTE } = {},
) {
  const woken: string[] = [];
  let finish: () => void = () => undefined;
  const finished = new Promise<void>(resolve => {
    finish = resolve;
  });
  const wakeUps = startWakeUps({
    database,
    sources,
    elsewhereMs,
    takeOverMs,
    most: 1,
    async wake(source) {
      woken.push(source);
      if (holds) await finished;
      return finds;
    },
    log,
  });
  return { woken, finish, stop: () => wakeUps.stop() };
}

const until = (condition: () => void) => vi.waitFor(condition, PATIENCE);

test('a service reads all its sources when it starts, and one at once when it is woken', async () => {
  await withDatabase(async database => {
    const { woken, stop } = startProcess(database, ['a', 'b']);
    await until(() => expect(woken).toEqual(['a', 'b']));
    await wakeUp(database, 'b');
    await until(() => expect(woken).toEqual(['a', 'b', 'b']));
    await stop();
  });
});

test('a process reads no sources that only others serve, and ignores notices that are none', async () => {
  await withDatabase(async database => {
    const { woken, stop } = startProcess(database, ['a']);
    await until(() => expect(woken).toEqual(['a']));
    await wakeUp(database, 'b');
    for (const text of ['', 'a', '{}', 'null', '{"source":"a","is":"lost"}'])
      await database.query("select pg_notify('sluice_sources', $1)", [text]);
    await wakeUp(database, 'a');
    await until(() => expect(woken).toEqual(['a', 'a']));
    await stop();
  });
});

test('what one process has read, another that still waits to read it does not read again', async () => {
  await withDatabase(async database => {
    const heard: string[] = [];
    const connect: Database['connect'] = async name => {
      const client = await database.connect(name);
      return client.on('notification', ({ payload = '' }) => heard.push(JSON.parse(payload).source));
    };
    const busy = startProcess({ ...database, connect }, ['held', 'a', 'b', 'last'], { holds: true });
    await until(() => expect(busy.woken).toEqual(['held']));
    const idle = startProcess(database, ['a', 'b']);
    await until(() => expect(heard).toEqual(['a', 'b']));
    busy.finish();
    await until(() => expect(busy.woken).toContain('last'));
    await Promise.all([busy.stop(), idle.stop()]);
    expect(busy.woken).toEqual(['held', 'last']);
  });
});

test('a process that finds another reading a source tries again soon, and does not say that it has read it', async () => {
  await withDatabase(async database => {
    const busy = startProcess(database, ['held', 'a'], { holds: true });
    await until(() => expect(busy.woken).toEqual(['held']));
    const other = startProcess(database, ['a'], { finds: 'elsewhere', takeOverMs: 0 });
    await until(() => expect(other.woken.slice(0, 3)).toEqual(['a', 'a', 'a']));
    busy.finish();
    await until(() => expect(busy.woken).toEqual(['held', 'a']));
    await Promise.all([busy.stop(), other.stop()]);
  });
});

test('what others say that they have read is read here all the same once it was not for long', async () => {
  await withDatabase(async database => {
    const busy = startProcess(database, ['held', 'a'], { holds: true, elsewhereMs: 0 });
    await until(() => expect(busy.woken).toEqual(['held']));
    const heard: unknown[] = [];
    const client = await database.connect('test');
    client.on('notification', notice => heard.push(notice));
    await client.query('listen sluice_sources');
    await database.query("select pg_notify('sluice_sources', $1)", [
      JSON.stringify({ is: 'read', source: 'a', by: 'x' }),
    ]);
    await until(() => expect(heard.length).toBe(1));
    busy.finish();
    await until(() => expect(busy.woken).toEqual(['held', 'a']));
    await busy.stop();
    await client.end();
  });
});

test.concurrent('a service that cannot listen reads all the same', async () => {
  await withDatabase(async database => {
    const connect = () => Promise.reject(new Error('too many connections'));
    const { woken, stop } = startProcess({ ...database, connect }, ['a', 'b']);
    await until(() => expect(woken).toEqual(['a', 'b']));
    await stop();
  });
});

test.concurrent('a process that stops hands its sources over, and begins no more turns', async () => {
  await withDatabase(async database => {
    const leaving = startProcess(database, ['a', 'b', 'c'], { holds: true });
    await until(() => expect(leaving.woken).toEqual(['a']));
    const staying = startProcess(database, ['a', 'b', 'c']);
    await until(() => expect(staying.woken).toEqual(['a', 'b', 'c']));
    const stopped = leaving.stop();
    leaving.finish();
    await stopped;
    await until(() => expect(staying.woken.slice(3)).toContain('a'));
    await staying.stop();
    expect(leaving.woken).toEqual(['a']);
  });
});

test.concurrent('a dropped connection is replaced, and everything is read then', async () => {
  await withDatabase(async database => {
    const { woken, stop } = startProcess(database, ['a']);
    await until(() => expect(woken).toEqual(['a']));
    await database.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'sluice wake-ups'",
    );
    await until(() => expect(woken).toEqual(['a', 'a']));
    await stop();
  });
});
