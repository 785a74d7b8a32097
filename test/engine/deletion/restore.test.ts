import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MINUTE } from '../../../src/clock.ts';
import { type Restore, restoreOf, type SeenChange } from '../../../src/engine/deletion/restore.ts';

type State = string | null;

/** Lists whose changes are logged as Sluice would see them. `null`: there is no such row. */
function createLog() {
  const histories = new Map<string, { number: number; before: State; after: State }[]>();
  const changes: SeenChange[] = [];
  const stateOf = (row: string): State => histories.get(row)?.at(-1)?.after ?? null;
  return {
    changes,
    stateOf,
    /** The rows as they were before a change. */
    before: (number: number) =>
      new Map(
        [...histories].map(([row, history]) => [row, history.findLast(each => each.number < number)?.after ?? null]),
      ),
    set(resource: string, key: string, after: State) {
      const row = `${resource} ${key}`;
      const history = histories.get(row) ?? [];
      histories.set(row, history);
      const before = stateOf(row);
      if (before === after) return;
      const number = changes.length + 1;
      const gone = history.length > 0 && before === null;
      const kind = before === null ? (gone ? 'revived' : 'inserted') : after === null ? 'deleted' : 'updated';
      const takesBack = history.findLast(each => each.before === after)?.number ?? null;
      changes.push({ number, resource, key, kind, seenAt: number * MINUTE, takesBack });
      history.push({ number, before, after });
    },
    /** What was there before anything was logged: it is forgotten again. */
    begin(resource: string, keys: number) {
      for (let key = 1; key <= keys; key++)
        histories.set(`${resource} ${key}`, [{ number: 0, before: 'none', after: 'as it was' }]);
    },
  };
}

type Log = ReturnType<typeof createLog>;

/** What people do: most edits bring something new, few are taken back. */
const work = fc.record({
  list: fc.constantFrom('customers', 'invoices', 'products'),
  key: fc.integer({ min: 1, max: 40 }),
  what: fc.constantFrom('insert', 'edit', 'edit', 'edit', 'edit', 'delete'),
  value: fc.uuid(),
});
type Work = typeof work extends fc.Arbitrary<infer T> ? T : never;

let inserted = 1000;
function doWork(log: Log, { list, key, what, value }: Work): void {
  const row = `${list} ${key}`;
  if (what === 'insert') log.set(list, String(inserted++), value);
  else if (log.stateOf(row) !== null) log.set(list, String(key), what === 'edit' ? value : null);
}

const business = (): Log => {
  const log = createLog();
  for (const list of ['customers', 'invoices', 'products']) log.begin(list, 40);
  return log;
};

/** Shows the rows as they were before a change, in some order; `share`: as far as they were read since. */
function restore(log: Log, to: number, order: readonly number[], share = 1): void {
  const wanted = [...log.before(to)].filter(([row, state]) => log.stateOf(row) !== state);
  const shuffled = wanted
    .map((each, index) => ({ each, at: order[index % order.length] ?? 0 }))
    .sort((a, b) => a.at - b.at);
  for (const { each } of shuffled.slice(0, Math.ceil(share * shuffled.length))) {
    const [row, state] = each;
    const [list = '', key = ''] = row.split(' ');
    log.set(list, key, state);
  }
}

const rowsIn = ({ back }: Restore) => [...back.values()].reduce((sum, rows) => sum + rows, 0);

test('a source that was restored is found, and from which change on it was taken back', () => {
  fc.assert(
    fc.property(
      fc.array(work, { minLength: 20, maxLength: 120 }),
      fc.array(work, { minLength: 25, maxLength: 120 }),
      fc.array(fc.integer(), { minLength: 50, maxLength: 50 }),
      fc.array(work, { maxLength: 5 }),
      (before, since, order, after) => {
        const log = business();
        for (const each of before) doWork(log, each);
        const first = log.changes.length + 1;
        for (const each of since) doWork(log, each);
        const end = log.changes.length + 1;
        restore(log, first, order);
        const back = log.changes.slice(end - 1);
        fc.pre(new Set(back.map(({ resource, kind }) => `${resource} ${kind}`)).size >= 2 && back.length >= 15);
        for (const each of after) doWork(log, each);
        const found = restoreOf(log.changes);
        expect(found).not.toBeNull();
        if (found === null) return;
        // A change that somebody had taken back before may stand at the beginning.
        expect(found.first).toBeGreaterThanOrEqual(first);
        expect(rowsIn(found)).toBeGreaterThanOrEqual(0.9 * back.length - 5);
        expect(found.noticedAt).toBeLessThanOrEqual((end + 5) * MINUTE);
      },
    ),
  );
});

test('it is found before all of it was read again', () => {
  const log = business();
  for (const each of fc.sample(work, { numRuns: 160, seed: 7 })) doWork(log, each);
  const first = log.changes.length - 40;
  restore(log, first, [0], 0.9);
  expect(restoreOf(log.changes)?.first).toBeGreaterThanOrEqual(first);
});

test('what people do is no restore, even if they take some of it back', () => {
  fc.assert(
    fc.property(fc.array(work, { maxLength: 300 }), fc.array(fc.nat(300), { maxLength: 30 }), (steps, undone) => {
      const log = business();
      for (const [index, each] of steps.entries()) {
        doWork(log, each);
        if (!undone.includes(index)) continue;
        const last = log.changes.at(-1);
        if (last) log.set(last.resource, last.key, log.before(last.number).get(`${last.resource} ${last.key}`) ?? null);
      }
      expect(restoreOf(log.changes)).toBeNull();
    }),
  );
});

test('rows that come and go, or are switched on and off, are no restore', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(11), fc.nat(11), work), { minLength: 60, maxLength: 300 }),
      fc.boolean(),
      (steps, beside) => {
        const log = business();
        log.begin('users', 12);
        for (const [user, cart, each] of steps) {
          log.set('users', String(user + 1), log.stateOf(`users ${user + 1}`) === 'busy' ? 'as it was' : 'busy');
          log.set('carts', String(cart), log.stateOf(`carts ${cart}`) === null ? 'a cart' : null);
          if (beside) doWork(log, each);
        }
        expect(restoreOf(log.changes)).toBeNull();
      },
    ),
  );
});

test('a single list in which rows of one kind are put back says nothing', () => {
  const log = business();
  for (let key = 1; key <= 10; key++) log.set('invoices', String(key), 'Paid');
  const end = log.changes.length;
  restore(log, 1, [0]);
  expect(log.changes.length).toBe(2 * end);
  expect(restoreOf(log.changes)).toBeNull();
});
