import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { digestBody } from '../../src/source/answers/body-digest.ts';

const digest = (text: string | Buffer, seed = '') => digestBody(Buffer.from(text as string), seed);
const row = fc.record({
  id: fc.nat(5),
  note: fc.constantFrom('', '"meta"', '],"meta":{', 'é', '{"meta":{}}'),
  meta: fc.jsonValue(),
});
const body = fc
  .tuple(
    fc.record(
      { success: fc.boolean(), data: fc.array(row, { maxLength: 3 }), meta: fc.jsonValue(), message: fc.string() },
      { requiredKeys: ['data'] },
    ),
    fc.shuffledSubarray(['success', 'data', 'meta', 'message'] as const, { minLength: 4 }),
    fc.constantFrom(undefined, 1),
  )
  .map(([fields, order, spaces]) => {
    const inOrder = Object.fromEntries(order.flatMap(name => (name in fields ? [[name, fields[name]]] : [])));
    return { fields: inOrder, text: JSON.stringify(inOrder, null, spaces) };
  });

describe('the digest of a body', () => {
  it('has the `meta` of the body itself, wherever rows have one, and changes with all else', () => {
    fc.assert(
      fc.property(body, body, (one, other) => {
        const [a, b] = [digest(one.text), digest(other.text)];
        if (a === null || b === null) return;
        expect(a.meta).toEqual(one.fields.meta);
        const [{ meta: _, ...rows }, { meta: __, ...otherRows }] = [one.fields, other.fields];
        if (a.digest === b.digest) expect(rows).toEqual(otherRows);
      }),
      { numRuns: 3000 },
    );
  });

  test('it stays the same where only what the source counts changes', () => {
    const page = (total: number) =>
      `{"data":[{"id":1,"meta":{"x":1}}], "meta": {"total_records": ${total}},"success":true}`;
    expect(digest(page(1))).toEqual({ digest: digest(page(20))?.digest, meta: { total_records: 1 } });
    expect(digest(page(1), 'another')?.digest).not.toBe(digest(page(1))?.digest);
    expect(digest('{"data":[]}')?.meta).toBeUndefined();
  });

  it.each([
    [
      'a `meta` in front of many rows',
      JSON.stringify({ meta: { total_records: 1 }, data: Array(300).fill({ id: 1 }) }),
    ],
    ['rows that end with a `meta`', JSON.stringify({ data: [{ id: 1, meta: { total_records: 1 } }] })],
    ['UTF-16', Buffer.from('{"data":[]}', 'utf16le')],
    ['letters of another encoding', Buffer.from('{"meta":{},"data":[{"name":"caf\u00e9"}]}', 'latin1')],
    ['a list', '[1]'],
    ['a cut-off body', '{"data":[{"id":1}],"meta":{"total_records":'],
    ['nothing', ''],
  ])('a body cannot be told by it: %s', (_what, text) => {
    expect(digest(text)).toBeNull();
  });
});
