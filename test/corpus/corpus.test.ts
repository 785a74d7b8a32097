import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  deletesTooSoon,
  isDecidedOtherwise,
  isLeftToSlots,
  isUnprovenBody,
  showsLastDayInPart,
} from './changed-rules.ts';
import type { Recorded } from './recorded.ts';
import { replayConclusion } from './replay-conclusion.ts';
import { replayPlan } from './replay-plan.ts';
import { replayRecount } from './replay-recount.ts';

const decisions = readFileSync(new URL('decisions.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map(line => JSON.parse(line) as Recorded);

/** As JSON has them: without what is undefined. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

function replay(recorded: Recorded): { was: unknown; is: unknown } {
  switch (recorded.d) {
    case 'choose':
      return replayPlan(recorded);
    case 'conclude':
      return replayConclusion(recorded);
    case 'recount':
      return replayRecount(recorded);
  }
}

test.each([
  ['choose', 'what to read next', 2000],
  ['conclude', 'what a finished reading concludes, and what is deleted', 1000],
  ['recount', 'whether the source counts rows that its windows did not show', 150],
] as const)('%s: every recorded decision on %s is decided as before', (kind, _what, least) => {
  const isLeftOut = (each: Recorded) =>
    (each.d === 'choose' && isDecidedOtherwise(each)) ||
    (each.d === 'conclude' && (isUnprovenBody(each) || showsLastDayInPart(each) || deletesTooSoon(each)));
  const recorded = decisions.filter(each => each.d === kind && !isLeftOut(each));
  expect(recorded.length).toBeGreaterThan(least);
  for (const each of recorded) {
    const { was, is } = replay(each);
    expect(plain(is), `seed ${each.seed}: ${JSON.stringify(each).slice(0, 2000)}`).toEqual(plain(was));
  }
});

test('slots choose only what is left to them, and few recorded decisions are left out because of that', () => {
  const choices = decisions.filter(each => each.d === 'choose');
  const leftOut = choices.filter(isDecidedOtherwise);
  expect(leftOut.length).toBeLessThan(choices.length / 20);
  for (const each of choices) {
    const { chosen } = replayPlan(each);
    if (each.task.kind === 'slot' && chosen !== null) expect(isLeftToSlots(each, chosen)).toBe(true);
  }
});
