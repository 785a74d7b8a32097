import { expect, test } from 'vitest';
import { createLog } from '../../../src/log.ts';
import { createReadingTurns, type TurnEnd, type TurnOptions } from '../../../src/service/schedule/reading-turns.ts';

const log = createLog({ level: 'silent' });

/** Turns whose ends are kept; `again`: a source whose turn ended unfinished is woken again, as the service does. */
function turnsOf(options: Omit<TurnOptions, 'log'>) {
  const ends: [string, TurnEnd][] = [];
  const turns = createReadingTurns({ ...options, log }, (source, ended) => {
    ends.push([source, ended]);
    if (ended.how === 'unfinished') turns.wakeUp(source);
  });
  return { turns, ends };
}

/** Resolves once nothing is left to do but to wait. */
const settled = () => new Promise(resolve => setImmediate(resolve));

function gate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>(resolve => {
    open = resolve;
  });
  return { opened, open };
}

test('at most the allowed number of sources is awake at once, and each gets its turn', async () => {
  const woken: string[] = [];
  let awake = 0;
  let most = 0;
  const { turns } = turnsOf({
    most: 3,
    async wake(source) {
      most = Math.max(most, ++awake);
      await settled();
      awake--;
      woken.push(source);
      return null;
    },
  });
  const sources = Array.from({ length: 12 }, (_, index) => `source_${index}`);
  for (const source of sources) turns.wakeUp(source);
  await turns.ended();
  expect([woken, most]).toEqual([sources, 3]);
});

test('a source that is woken again while it waits for its turn keeps its place, and has one turn', async () => {
  const woken: string[] = [];
  const { opened, open } = gate();
  const { turns } = turnsOf({
    most: 1,
    async wake(source) {
      woken.push(source);
      await opened;
      return null;
    },
  });
  for (const source of ['a', 'b', 'c', 'd', 'b']) turns.wakeUp(source);
  open();
  await turns.ended();
  expect(woken).toEqual(['a', 'b', 'c', 'd']);
});

test('a source that is woken during its turn is read again: at once if nobody waits, else behind those that do', async () => {
  const woken: string[] = [];
  const { turns } = turnsOf({
    most: 1,
    async wake(source) {
      woken.push(source);
      if (woken.length === 1) turns.wakeUp('a');
      if (woken.length === 2) {
        turns.wakeUp('b');
        turns.wakeUp('a');
      }
      return null;
    },
  });
  turns.wakeUp('a');
  await turns.ended();
  await turns.ended();
  await turns.ended();
  expect(woken).toEqual(['a', 'a', 'b', 'a']);
});

test('a turn is told that its source is woken meanwhile, and once of what follows at once', async () => {
  let told = 0;
  const { turns } = turnsOf({
    most: 1,
    async wake(source, turn) {
      if (told > 0) return null;
      const { opened, open } = gate();
      turn.onWoken(() => {
        told++;
        open();
      });
      for (let times = 0; times < 5; times++) turns.wakeUp(source);
      await opened;
      return null;
    },
  });
  turns.wakeUp('a');
  await turns.ended();
  expect(told).toBe(1);
});

test('with one turn for two sources, a source with endless work ends its turn and queues again', async () => {
  const woken: string[] = [];
  const { turns } = turnsOf({
    most: 1,
    turnMs: 0,
    async wake(source, { signal }) {
      woken.push(source);
      // Only the other source's waiting ends it.
      if (woken.length <= 6)
        await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }));
      return null;
    },
  });
  turns.wakeUp('a');
  turns.wakeUp('b');
  await expect.poll(() => woken.length, { timeout: 30_000 }).toBeGreaterThanOrEqual(7);
  turns.stop();
  await turns.ended();
  expect(woken.slice(0, 6).join('')).toBe('ababab');
});

test('a source that another process has read loses its place, unless it is woken again', async () => {
  const woken: string[] = [];
  const { opened, open } = gate();
  const { turns, ends } = turnsOf({
    most: 1,
    async wake(source) {
      woken.push(source);
      await opened;
      return null;
    },
  });
  for (const source of ['a', 'b', 'c']) turns.wakeUp(source);
  await settled();
  const dropped = ['a', 'b', 'c', 'd'].map(source => turns.drop(source));
  turns.wakeUp('c');
  open();
  await turns.ended();
  expect([dropped, woken]).toEqual([
    [false, true, true, true],
    ['a', 'c'],
  ]);
  expect(ends.map(([source]) => source)).toEqual(['a', 'c']);
});

test('a turn says how it ended: with what is due next, or that reading failed', async () => {
  const { turns, ends } = turnsOf({
    most: 2,
    async wake(source) {
      if (source === 'b') throw new Error('no such table');
      return 500;
    },
  });
  turns.wakeUp('a');
  turns.wakeUp('b');
  await turns.ended();
  expect(ends).toEqual([
    ['a', { how: 'done', againMs: 500 }],
    ['b', { how: 'failed' }],
  ]);
});

test('once stopped, no turn begins, and those under way and waiting end unfinished', async () => {
  const woken: string[] = [];
  const { opened, open } = gate();
  const { turns, ends } = turnsOf({
    most: 1,
    async wake(source) {
      woken.push(source);
      await opened;
      return null;
    },
  });
  for (const source of ['a', 'b', 'c']) turns.wakeUp(source);
  await settled();
  turns.stop();
  turns.wakeUp('d');
  open();
  await turns.ended();
  expect(woken).toEqual(['a']);
  expect(ends).toEqual(['a', 'b', 'c'].map(source => [source, { how: 'unfinished' }]));
});
