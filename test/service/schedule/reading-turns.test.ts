import { expect, test } from 'vitest';
import { createLog } from '../../../src/log.ts';
import { createReadingTurns } from '../../../src/service/schedule/reading-turns.ts';

test('a wake-up that arrives while the next one of its source is being queued is not lost', async () => {
  const queued: [string, Date | null][] = [];
  const later = new Date('2026-01-15T11:00:00Z');
  let finish: () => void = () => undefined;
  const finished = new Promise<void>(resolve => {
    finish = resolve;
  });
  const wake = async (source: string) => {
    if (source === 'b') await finished;
    return source === 'a' ? later : null;
  };
  const turns = createReadingTurns(
    { sources: ['a', 'b'], most: 1, wake, log: createLog({ level: 'silent', secrets: [] }) },
    async (source, at) => {
      queued.push([source, at]);
      if (source !== 'a' || at === null) return;
      // Another source waits for its turn by now, so this one cannot go on.
      void turns.onWakeUp('b');
      void turns.onWakeUp('a');
    },
  );
  await turns.onWakeUp('a');
  expect(queued).toEqual([
    ['a', later],
    ['a', null],
  ]);
  finish();
  await turns.ended();
});
