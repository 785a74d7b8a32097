import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { listQuarantine } from '../../../src/warehouse/rows/quarantine.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { type OwnLists, type OwnRow, openOwnSource } from './own-source.ts';

type Outcome =
  /** The value of the column as text. */
  | { exact: string | null }
  /** The same, after `count` characters were removed or replaced. */
  | { cleaned: string; count: number }
  /** The field that the quarantine names, and the reason. */
  | { quarantined: string; reason: RegExp };

const exact = (text: string | null): Outcome => ({ exact: text });
const quarantined = (quarantinedField: string, reason: RegExp): Outcome => ({ quarantined: quarantinedField, reason });

const digits = '12345678901234567890.123456789012345678901234567890';

/** Name of the case, field, JSON as the source writes it, and outcome. */
const INVOICE_CASES: readonly [name: string, field: string, json: string, outcome: Outcome][] = [
  ['NUL characters in text', 'notes', '"a\\u0000b\\u0000"', { cleaned: 'ab', count: 2 }],
  ['lone surrogates in text', 'notes', '"a\\ud800b\\udfff"', { cleaned: 'a�b�', count: 2 }],
  ['a pair of surrogates', 'notes', '"\\ud83e\\uddfe"', exact('🧾')],
  ['empty text', 'notes', '""', exact('')],
  ['a number in text', 'notes', '1000000000000000000000', exact('1000000000000000000000')],
  ['a flag in text', 'notes', 'true', exact('true')],
  ['an object in text', 'notes', '{"a":1}', quarantined('notes', /expected text, got object/)],
  ['a list in text', 'notes', '["a"]', quarantined('notes', /expected text, got a list/)],
  ['1e400', 'amount', '1e400', exact(`1${'0'.repeat(400)}`)],
  ['1e1001', 'amount', '1e1001', quarantined('amount', /out of range/)],
  ['more digits than a double holds', 'amount', digits, exact(digits.replace(/0$/, ''))],
  ['the same as text', 'amount', `"${digits}"`, exact(digits.replace(/0$/, ''))],
  ['2000 digits', 'amount', `"${'1'.repeat(2000)}"`, quarantined('amount', /2000 digits is out of range/)],
  ['a thousands separator', 'amount', '"1,234.50"', quarantined('amount', /expected a number such as/)],
  ['an empty number', 'amount', '""', exact(null)],
  ['true in a number', 'amount', 'true', quarantined('amount', /expected a number, got boolean/)],
  ['false in a number', 'amount', 'false', quarantined('amount', /expected a number, got boolean/)],
  ['NaN as text', 'amount', '"NaN"', quarantined('amount', /expected a number such as/)],
  ['Infinity as text', 'amount', '"-Infinity"', quarantined('amount', /expected a number such as/)],
  ['an object in a number', 'amount', '{"value":1}', quarantined('amount', /expected a number, got object/)],
  ['no date', 'due_date', '"0000-00-00"', exact(null)],
  ['no date, with a time', 'due_date', '"0000-00-00 00:00:00"', exact(null)],
  ['an empty date', 'due_date', '""', exact(null)],
  ['31 February', 'due_date', '"2025-02-31"', quarantined('due_date', /expected a date/)],
  ['a date with a time and a zone', 'due_date', '"2025-03-01T23:30:00-11:00"', exact('2025-03-01')],
  ['the year 0000', 'due_date', '"0000-01-01"', quarantined('due_date', /expected a date/)],
  ['the year 0001', 'due_date', '"0001-01-01"', exact('0001-01-01')],
  ['the year 9999', 'due_date', '"9999-12-31"', exact('9999-12-31')],
  ['the year 10000', 'due_date', '"10000-01-01"', quarantined('due_date', /expected a date/)],
  ['a date BC', 'due_date', '"0044-03-15 BC"', quarantined('due_date', /expected a date/)],
  ['a date with a minus', 'due_date', '"-0044-03-15"', quarantined('due_date', /expected a date/)],
  ['infinity as a date', 'due_date', '"infinity"', quarantined('due_date', /expected a date/)],
  ['a number as a date', 'due_date', '20250301', quarantined('due_date', /expected a date, got number/)],
  ['a huge id in another field', 'customer_id', '9223372036854775807', exact('9223372036854775807')],
  ['one beyond it', 'customer_id', '9223372036854775808', quarantined('customer_id', /beyond 64 bits/)],
  ['a fraction in an id', 'customer_id', '1.5', quarantined('customer_id', /whole number/)],
  ['NUL characters in an unknown field', 'note2', '{"a\\u0000":"b\\u0000"}', { cleaned: '{"a": "b"}', count: 2 }],
  ['names that only NUL tells apart', 'note2', '{"a":1,"a\\u0000":2}', quarantined('(unknown fields)', /two names/)],
  ['1e400 in an unknown field', 'note2', '1e400', exact('"1e400"')],
  [
    '20 levels in an unknown field',
    'note2',
    `${'['.repeat(20)}${']'.repeat(20)}`,
    exact('['.repeat(20) + ']'.repeat(20)),
  ],
  [
    '20 levels in a known field',
    'notes',
    `${'['.repeat(20)}${']'.repeat(20)}`,
    quarantined('notes', /expected text, got a list/),
  ],
  [
    '1900 levels in an unknown field',
    'note2',
    `${'['.repeat(1900)}${']'.repeat(1900)}`,
    quarantined('(unknown fields)', /nested deeper than 64 levels/),
  ],
  [
    '1900 levels in a known field',
    'notes',
    `${'['.repeat(1900)}${']'.repeat(1900)}`,
    quarantined('notes', /expected text, got a list/),
  ],
  ['items that are no list', 'items', '{"a":1}', quarantined('items', /array/)],
  ['an item that is null', 'items', '[null]', quarantined('items.0', /object/)],
  ['a wrong amount in an item', 'items', '[{"amount":"1,5"}]', quarantined('items.0.amount', /expected a number/)],
];

const CUSTOMER_CASES: typeof INVOICE_CASES = [
  ['a stamp in UTC', 'created_at', '"2025-03-01T10:00:00Z"', exact('2025-03-01 10:00:00+00')],
  ['the greatest zone', 'created_at', '"2025-03-01T10:00:00+15:59"', exact('2025-02-28 18:01:00+00')],
  [
    'an impossible zone',
    'created_at',
    '"2025-03-01T10:00:00+99:99"',
    quarantined('created_at', /expected a time stamp/),
  ],
  ['a zone beyond Postgres', 'created_at', '"2025-03-01T10:00:00+16:00"', quarantined('created_at', /time stamp/)],
  ['a stamp of 31 February', 'created_at', '"2025-02-31T10:00:00Z"', quarantined('created_at', /time stamp/)],
  ['a stamp of the year 10000', 'created_at', '"10000-01-01T10:00:00Z"', quarantined('created_at', /time stamp/)],
  ['a stamp BC', 'created_at', '"0044-03-15 10:00:00 BC"', quarantined('created_at', /time stamp/)],
  ['no stamp', 'created_at', '"0000-00-00 00:00:00"', exact(null)],
  ['seconds since the epoch', 'created_at', '1740823200', exact('2025-03-01 10:00:00+00')],
  ['milliseconds since the epoch', 'created_at', '"1740823200000"', exact('2025-03-01 10:00:00+00')],
  ['a day as a number', 'created_at', '20250301', quarantined('created_at', /time stamp/)],
  ['an object as a stamp', 'created_at', '{}', quarantined('created_at', /time stamp, got object/)],
];

const good = (id: number, list: string): string =>
  list === 'customers'
    ? `{"id":${id},"account":"c${id}","created_at":"2025-03-01T10:00:00Z"}`
    : `{"id":${id},"date":"2025-03-01","status":"Paid","amount":1,"items":[]}`;

/** The row with one field set or replaced. */
function withField(row: string, field: string, json: string): OwnRow {
  const rest = JSON.parse(row) as Record<string, unknown>;
  delete rest[field];
  return { text: `${JSON.stringify(rest).slice(0, -1)},"${field}":${json}}` };
}

const sync = async (engine: Awaited<ReturnType<typeof openEngine>>, acceptLosses: string[] = []): Promise<string[]> =>
  (await serveOrders(engine, 'sync', { acceptLosses })).map(order => order.reason ?? order.state);

test.each([
  ['invoices', INVOICE_CASES],
  ['customers', CUSTOMER_CASES],
] as const)(
  '%s: each odd value is stored exactly, or cleaned and counted, or its record is quarantined until it is corrected',
  async (list, cases) => {
    const rows = new Map(cases.map(([, field, json], id) => [id + 1, withField(good(id + 1, list), field, json)]));
    const lists: OwnLists = { customers: new Map(), invoices: new Map(), transactions: new Map(), [list]: rows };
    await withDatabase(async database => {
      const engine = await openEngine(database, await openOwnSource(lists), { limit: 100_000, resources: [list] });
      expect(await sync(engine)).toEqual(['done']);
      const records = await listQuarantine(database.kysely, 'main', 1000);
      for (const [index, [name, field, json, outcome]] of cases.entries()) {
        const id = index + 1;
        const bad = records.find(record => record.key === String(id));
        if ('quarantined' in outcome) {
          expect(bad?.reasons, name).toEqual({ [outcome.quarantined]: expect.stringMatching(outcome.reason) });
          expect(bad?.payload.replaceAll(' ', '').includes(field), name).toBe(true);
          expect(bad, name).toMatchObject({ resource: list, slice: expect.stringMatching(/^(date|id) /) });
          expect(await storedIn(database, list, field, id), name).toBeUndefined();
        } else {
          expect(bad, `${name} ${json.slice(0, 40)}`).toBeUndefined();
          const stored = await storedIn(database, list, field, id);
          const count = 'count' in outcome ? outcome.count : null;
          expect(stored?.cleaned ?? null, name).toBe(count);
          // No matcher, because it would print 10 MB.
          expect(stored?.value === ('exact' in outcome ? outcome.exact : outcome.cleaned), name).toBe(true);
        }
      }

      const before = await listQuarantine(database.kysely, 'main', 1000);
      expect(await sync(engine)).toEqual(['done']);
      for (const record of await listQuarantine(database.kysely, 'main', 1000)) {
        const known = before.find(each => each.key === record.key);
        expect(record).toMatchObject({ firstSeen: known?.firstSeen });
        expect(record.attempts).toBeGreaterThan(known?.attempts ?? 0);
        expect(Date.parse(record.lastSeen)).toBeGreaterThan(Date.parse(known?.lastSeen ?? ''));
      }

      for (const id of rows.keys()) rows.set(id, { text: good(id, list) });
      // No invoice has notes any more.
      expect(await sync(engine, list === 'invoices' ? ['notes'] : [])).toEqual(['done']);
      expect(await listQuarantine(database.kysely, 'main', 1000)).toEqual([]);
      const { rows: whole } = await database.query(
        `select count(*)::int as rows, count(_extra)::int as extra from warehouse.${list}`,
      );
      expect(whole).toEqual([{ rows: cases.length, extra: 0 }]);
      await engine.close();
    });
  },
);

/** The field of a row as text, and the number of its characters that were cleaned. */
async function storedIn(
  database: Database,
  list: string,
  field: string,
  id: number,
): Promise<{ value: string | null; cleaned: number | null } | undefined> {
  const column = field === 'note2' ? `_extra->'note2'` : field;
  const name = field === 'note2' ? '(unknown fields)' : field;
  const known = field === 'items' ? 'null' : `(${column})::text`;
  const { rows } = await database.query<{ value: string | null; cleaned: number | null }>(
    `select ${known} as value, (_extra->'(cleaned)'->>'${name}')::int as cleaned from warehouse.${list} where id = $1`,
    [id],
  );
  return rows[0];
}

const UNREADABLE = ['null', '"text"', '[1]', '17', '{"id":9223372036854775808}', '{"id":null}', '{"id":"seven"}'];

test.each([
  ['invoices', UNREADABLE],
  ['customers', ['null', '{"id":9223372036854775808}']],
  // Their ids may be absent.
  ['transactions', UNREADABLE.filter(text => text !== '{"id":null}')],
] as const)(
  '%s: rows %j are quarantined, the others are read, and corrected rows leave quarantine',
  async (list, texts) => {
    const all = Array.from({ length: 7 + texts.length }, (_, n) => n + 1);
    const wrong = new Map(texts.map((text, nth) => [nth + 4, text]));
    const rows = new Map(all.map(id => [id, { text: wrong.get(id) ?? good(id, list) } as OwnRow]));
    const lists: OwnLists = { customers: new Map(), invoices: new Map(), transactions: new Map(), [list]: rows };
    await withDatabase(async database => {
      const engine = await openEngine(database, await openOwnSource(lists), { limit: 100_000, resources: [list] });
      const ids = async () =>
        (await database.query<{ id: string }>(`select id from warehouse.${list} order by id`)).rows.map(row =>
          Number(row.id),
        );
      await sync(engine);
      expect(await ids()).toEqual(all.filter(id => !wrong.has(id)));
      const records = await listQuarantine(database.kysely, 'main', 10);
      for (const { key } of records) expect(key).toMatch(/^\?/);
      expect(records.map(({ payload }) => payload).sort()).toEqual(
        texts.map(text => text.replace('9223372036854775808', '"9223372036854775808"')).sort(),
      );
      for (const id of wrong.keys()) rows.set(id, { text: good(id, list) });
      expect(await sync(engine)).toEqual(['done']);
      expect(await ids()).toEqual(all);
      expect(await listQuarantine(database.kysely, 'main', 10)).toEqual([]);
      await engine.close();
    });
  },
);

test('10 MB of text are stored exactly', async () => {
  const long = randomBytes(5 * 2 ** 20).toString('hex');
  const lists: OwnLists = {
    customers: new Map([[1, withField(good(1, 'customers'), 'address', JSON.stringify(long))]]),
    invoices: new Map(),
    transactions: new Map(),
  };
  await withDatabase(async database => {
    const engine = await openEngine(database, await openOwnSource(lists), { limit: 1000, resources: ['customers'] });
    expect(await sync(engine)).toEqual(['done']);
    const stored = await storedIn(database, 'customers', 'address', 1);
    // No matcher, because it would print the text.
    expect(stored?.value === long).toBe(true);
    await engine.close();
  });
});

test('a quarantined record leaves quarantine when the source deletes it', async () => {
  const rows = new Map([1, 2, 3].map(id => [id, { text: good(id, 'invoices') } as OwnRow]));
  rows.set(2, withField(good(2, 'invoices'), 'amount', '"1,234.50"'));
  const lists: OwnLists = { customers: new Map(), invoices: rows, transactions: new Map() };
  await withDatabase(async database => {
    const engine = await openEngine(database, await openOwnSource(lists), { limit: 1000, resources: ['invoices'] });
    expect(await sync(engine)).toEqual(['done']);
    expect(await listQuarantine(database.kysely, 'main', 10)).toMatchObject([{ key: '2' }]);
    rows.delete(2);
    await sync(engine);
    expect(await listQuarantine(database.kysely, 'main', 10)).toEqual([]);
    await engine.close();
  });
});
