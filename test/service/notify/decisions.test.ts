import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY, HOUR, SECOND } from '../../../src/clock.ts';
import { afterFailure } from '../../../src/service/notify/after-failure.ts';
import { composeMessage, LIMITS, sentBytes } from '../../../src/service/notify/compose-message.ts';
import { takeBatch } from '../../../src/service/notify/take-batch.ts';

const RUNS = { numRuns: 3000 };

test('a wait is from 5 seconds to an hour, or as long as the receiver asks, up to a day; after a day with ten failures there is none', () => {
  fc.assert(
    fc.property(
      fc.record({
        attempts: fc.integer({ min: 1, max: 2000 }),
        failingForMs: fc.integer({ min: 0, max: 2 * DAY }),
        status: fc.constantFrom(null, 400, 404, 410, 429, 500, 503),
        retryAfterMs: fc.option(fc.integer({ min: 0, max: 400 * DAY })),
        random: fc.double({ min: 0, max: 1, noNaN: true }),
      }),
      failed => {
        const next = afterFailure(failed);
        const isOver = failed.failingForMs >= DAY && failed.attempts >= 10;
        if (failed.status === 410 || isOver) return next === 'pause';
        if (next === 'pause') return false;
        const asked = Math.min(failed.retryAfterMs ?? 0, DAY);
        return next.retryInMs >= Math.max(5 * SECOND, asked) && next.retryInMs <= Math.max(HOUR, asked);
      },
    ),
    RUNS,
  );
});

test('waits double from one failure to the next', () => {
  const waits = Array.from({ length: 12 }, (_, index) => {
    const next = afterFailure({ attempts: index + 1, failingForMs: 0, status: 500, retryAfterMs: null, random: 1 });
    return next === 'pause' ? 0 : next.retryInMs / SECOND;
  });
  expect(waits).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]);
});

test('batches of any changes make up all of them, in order, each within the limit or alone, and nothing is passed over', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 1, max: 500 }), { maxLength: 60 }),
      fc.array(fc.string({ unit: 'binary', maxLength: 40 }), { minLength: 60, maxLength: 60 }),
      fc.record({ changes: fc.integer({ min: 1, max: 20 }), bytes: fc.integer({ min: 1, max: 400 }) }),
      (numbers, texts, limit) => {
        const sorted = [...numbers].sort((a, b) => a - b);
        const all = sorted.map((number, at) => ({ number: String(number), data: texts[at] ?? '' }));
        const taken = [];
        for (let next = 1; next <= 500; ) {
          const { changes, to } = takeBatch(
            all.filter(({ number }) => Number(number) >= next),
            500,
            limit,
          );
          const size = changes.reduce((sum, { data }) => sum + Buffer.byteLength(data) + 1, 0);
          expect(changes.length === 1 || (changes.length <= limit.changes && size <= limit.bytes) || size === 0).toBe(
            true,
          );
          expect(changes.every(({ number }) => Number(number) >= next && Number(number) <= to)).toBe(true);
          expect(to).toBeGreaterThanOrEqual(next);
          taken.push(...changes);
          next = to + 1;
        }
        expect(taken).toEqual(all);
      },
    ),
    { numRuns: 1000 },
  );
});

test('an event keeps numbers as Postgres wrote them', () => {
  const body = composeMessage('standard', 'main', [
    { number: '1', data: '{"number":1,"after":{"amount":12345678901234567890.10}}' },
  ]);
  expect(body).toBe(
    '{"type":"changes","source":"main","changes":[{"number":1,"after":{"amount":12345678901234567890.10}}]}',
  );
});

const hostile = [{ number: '1', data: 'invoices 1 updated  notes: <!channel> & [a](https://x) \u202e -> b' }];

test('what a source says mentions nobody in Slack and is no link in Teams', () => {
  expect(JSON.parse(composeMessage('slack', 'main', hostile))).toEqual({
    text: 'main: 1 change\ninvoices 1 updated  notes: &lt;!channel&gt; &amp; [a](https://x) \\u202e -&gt; b',
    mrkdwn: false,
  });
  const [card] = (
    JSON.parse(composeMessage('teams', 'main', hostile)) as {
      attachments: { contentType: string; content: { body: { type: string }[] } }[];
    }
  ).attachments;
  expect(card?.contentType).toBe('application/vnd.microsoft.card.adaptive');
  expect(card?.content.body).toEqual([
    { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: 'main: 1 change', weight: 'Bolder' }] },
    { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: expect.stringContaining('[a](https://x) \\u202e') }] },
  ]);
});

test.each([
  ['teams', 'invisible characters', '\u00ad', 28_000],
  ['teams', 'characters that JSON escapes', '"', 28_000],
  ['slack', 'characters that Slack escapes', '&', 40_000],
  ['slack', 'invisible characters', '\u{e0041}', 40_000],
] as const)('a message to %s is never too long, whatever it holds: %s', (form, _, character, most) => {
  const all = Array.from({ length: 21 }, (_each, at) => ({ number: String(at + 1), data: character.repeat(600) }));
  for (let next = 1; next <= 21; ) {
    const left = all.filter(({ number }) => Number(number) >= next);
    const { changes, to } = takeBatch(left, 21, LIMITS[form], data => sentBytes(form, data));
    expect(Buffer.byteLength(composeMessage(form, 'main', changes))).toBeLessThan(most);
    next = to + 1;
  }
});
