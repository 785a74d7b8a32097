import fc from 'fast-check';
import { expect, test } from 'vitest';
import transactions from '../../../jobs/transactions.ts';
import { profileOf } from '../../../src/engine/profile/source-profile.ts';
import { confirmEnd } from '../../../src/engine/read/fetch/confirm-end.ts';
import { fetchInOrder, inTurn } from '../../../src/engine/read/fetch/fetch-in-order.ts';
import { fetchPage, type ListQuery, type PageAnswer } from '../../../src/engine/read/fetch/fetch-page.ts';
import type { Resource } from '../../../src/engine/resource.ts';
import { createAdmissions } from '../../../src/engine/run/readings/admission.ts';
import { createTask } from '../../../src/engine/task/task.ts';
import { SluiceError } from '../../../src/errors.ts';
import type { Client } from '../../../src/source/client.ts';

const USUAL = 20;
const later = () => new Promise(resolve => setImmediate(resolve));

/** A source without counts that shows so many rows, and refuses pages of other lengths than usual once or twice. */
function questionOf(rows: number, refusals: number, admit: ListQuery['reader']['admit'], ahead: number): ListQuery {
  let left = refusals;
  const list: Client['list'] = async (_path, _query, { page = 1, limit = USUAL }) => {
    await later();
    if (limit !== USUAL && left-- > 0) throw new SluiceError('refused', 'Not so many.');
    const shown = Array.from({ length: Math.max(Math.min(rows - (page - 1) * limit, limit), 0) }, (_, at) => ({
      id: rows - (page - 1) * limit - at,
    }));
    const answered = { grantedAt: '2026-01-15 10:00:00+00', requests: 1, bytes: 0 };
    return { kind: 'rows', rows: shown, ...answered };
  };
  const resource = {
    ...{ source: 'main', name: 'transactions', job: transactions, entries: new Map() },
    profile: profileOf([]),
  } as unknown as Resource;
  const reader: ListQuery['reader'] = {
    ...{ client: { list } as Client, pageSize: 'auto', ahead, signal: new AbortController().signal, admit },
    othersAnswering: () => [],
    recall: async () => null,
  };
  const task = createTask({ kind: 'verify', resource, runId: '1', orderId: '1', since: 0, lane: 'verify' });
  return { reader, task, slice: { by: 'whole' }, query: {} };
}

/** Reads pages side by side, asks again for those in doubt, and gives the place of each back a while after its turn, as its commit does. */
async function readSideBySide(question: ListQuery, pages: readonly number[], limits: readonly number[]): Promise<void> {
  const limitOf = (page: number) => limits[page % limits.length] as number;
  const fetch = (page: number) => fetchPage(question, { page, limit: limitOf(page), flexible: false, usual: USUAL });
  let previous: PageAnswer | null = null;
  for await (const shown of fetchInOrder(question.reader, inTurn(pages), fetch)) {
    const answer: PageAnswer = previous === null ? shown : await confirmEnd(question, previous, shown, USUAL);
    void later().then(answer.release);
    previous = answer;
  }
}

test('readings that hold later pages and ask again for an earlier one do not wait for each other for ever', async () => {
  const reading = fc.record({
    rows: fc.integer({ min: 0, max: 100 }),
    refusals: fc.integer({ min: 0, max: 4 }),
    count: fc.integer({ min: 1, max: 8 }),
    limits: fc.array(fc.constantFrom(USUAL, 10), { minLength: 1, maxLength: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(reading, { minLength: 1, maxLength: 5 }),
      async (most, given) => {
        const { others } = createAdmissions(most);
        const all = given.map(({ rows, refusals, count, limits }) =>
          readSideBySide(
            questionOf(rows, refusals, others, most),
            Array.from({ length: count }, (_, at) => at + 1),
            limits,
          ),
        );
        let ended = false;
        const settled = Promise.allSettled(all).then(() => {
          ended = true;
        });
        for (let turns = 0; turns < 500 && !ended; turns++) await later();
        expect(ended).toBe(true);
        await settled;
      },
    ),
  );
});
