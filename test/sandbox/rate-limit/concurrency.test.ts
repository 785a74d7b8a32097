import { describe, expect, test } from 'vitest';
import type { SandboxOptions } from '../../../sandbox/sandbox.ts';
import { SECOND } from '../../../src/clock.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { type Answer, openForTest, request } from '../test-client.ts';

/** Sends five requests at once, of which `served` are held until the others were answered, and returns the answers by status. */
async function sendFive(variants: NonNullable<SandboxOptions['variants']>, served: number) {
  const clock = manualClock();
  const sandbox = await openForTest({ variants, clock, latencyMs: SECOND });
  const send = () => request(sandbox, '/api/v2/users');
  let left = 5 - served;
  const answers = await new Promise<Answer[]>((resolve, reject) => {
    const release = async () => {
      await clock.sleepers(served);
      clock.advance(SECOND);
    };
    const all = Array.from({ length: 5 }, async () => {
      const answer = await send();
      if (--left === 0) await release();
      return answer;
    });
    if (left === 0) release().catch(reject);
    Promise.all(all).then(resolve, reject);
  });
  const sendOne = async () => {
    const one = send();
    await clock.sleepers(1);
    clock.advance(SECOND);
    return one;
  };
  return { sandbox, sendOne, answers: answers.sort((a, b) => a.status - b.status) };
}

describe('more requests at once than the source serves', () => {
  test('are answered with 429, Retry-After: 1 and requests remaining', async () => {
    const { answers, sandbox, sendOne } = await sendFive({ concurrency: '2' }, 2);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429, 429, 429]);
    expect(answers[4]?.body).toEqual({ success: false, message: 'Too many connections' });
    expect(answers[4]?.headers.get('retry-after')).toBe('1');
    expect(Number(answers[4]?.headers.get('x-ratelimit-remaining'))).toBeGreaterThan(900);
    expect(sandbox.stats.rejected).toBe(0);
    expect((await sendOne()).status).toBe(200);
  });

  test('may be answered with 503', async () => {
    const { answers } = await sendFive({ concurrency: '2-503' }, 2);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 503, 503, 503]);
  });

  test.each([
    ['no', '997'],
    ['yes', '994'],
  ] as const)('count against the limit: %s', async (counted, left) => {
    const { sendOne } = await sendFive({ concurrency: '2', 'rejected-count': counted }, 2);
    expect((await sendOne()).headers.get('x-ratelimit-remaining')).toBe(left);
  });

  test('are served by a source without such a bound', async () => {
    const { answers } = await sendFive({}, 5);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  });
});
