import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exactNumber, isNamedByField, parseJson } from '../../src/source/answers/json.ts';

describe('parseJson', () => {
  it('returns numbers that a double would round as exact text, all others as numbers', () => {
    expect(
      parseJson('[9007199254740993, 12345678901234567890.123, 1e400, 0.1, -0.30000000000000004, 1e5, 12.50]'),
    ).toEqual(['9007199254740993', '12345678901234567890.123', '1e400', 0.1, -0.30000000000000004, 100000, 12.5]);
  });

  it('keeps every decimal', () => {
    const decimal = fc
      .tuple(fc.boolean(), fc.stringMatching(/^(0|[1-9][0-9]{0,25})$/), fc.stringMatching(/^[0-9]{0,12}$/))
      .map(([minus, whole, fraction]) => `${minus ? '-' : ''}${whole}${fraction && `.${fraction}`}`);
    fc.assert(
      fc.property(decimal, text => {
        const { amount } = parseJson(`{"amount": ${text}}`) as { amount: number | string };
        expect(scaled(plain(amount))).toBe(scaled(text));
      }),
      { numRuns: 1000 },
    );
  });

  it('parses everything that JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), value => {
        const text = JSON.stringify(value);
        fc.pre(!text.includes('__proto__'));
        expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
      { numRuns: 500 },
    );
  });

  it('is neither slowed down nor misled by long digits inside strings', () => {
    expect(parseJson('{"iban": "1234567890123456789", "id": "3e", "quote": "\\"99999999999999999", "n": 7}')).toEqual({
      iban: '1234567890123456789',
      id: '3e',
      quote: '"99999999999999999',
      n: 7,
    });
  });

  it.each([
    '{"__proto__": {"admin": true}, "n": 1}',
    '{"\\u005f_proto__": {"admin": true}, "n": 1}',
    '{"__proto__": {"admin": true}, "n": 9007199254740993}',
  ])('drops a key that could reach a prototype: %s', text => {
    const value = parseJson(text) as object;
    expect(Object.keys(value)).toEqual(['n']);
    expect((value as { admin?: unknown }).admin).toBeUndefined();
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it.each([3000, 1_000_000])('throws on %i levels, with and without long numbers', depth => {
    const deep = '['.repeat(depth) + ']'.repeat(depth);
    expect(() => parseJson(deep)).toThrow(SyntaxError);
    expect(() => parseJson(`[9007199254740993, ${deep}]`)).toThrow();
  });

  it.each(['', '{"a": 1', '<html>', '[9007199254740993', '{"a": 01234567890123456789}', '[1,]'])(
    'throws on %j',
    text => {
      expect(() => parseJson(text)).toThrow();
    },
  );

  it('parses a page with one enormous string', () => {
    const text = 'x\n'.repeat(5e6);
    expect(parseJson(`{"notes": ${JSON.stringify(text)}, "id": 9007199254740993}`)).toEqual({
      notes: text,
      id: '9007199254740993',
    });
  });

  it('rejects truncated text at once, however many quotes it holds', () => {
    // One pass per quote would take minutes, and run into the test's time-out.
    expect(() => parseJson(`["${'x\\"'.repeat(300_000)} 1e5`)).toThrow();
  });

  it('keeps the last of two equal keys, as JSON.parse does, and skips a byte order mark', () => {
    expect(parseJson('\ufeff{"id": 9007199254740993, "n": 1, "n": 2}')).toEqual({ id: '9007199254740993', n: 2 });
  });
});

it.each([
  ['{"300": {"id": 300}, "299": {"id": "299"}}', true],
  ['{"12": {"no": 12, "id": 7}, "11": {"no": 11, "id": 8}, "13": null}', true],
  ['{"0": {"id": 300}, "1": {"id": 299}}', false],
  ['{"0": {"position": 0}, "2": {"position": 2}}', false],
  ['{"3": {"id": 300}, "7": {"id": 7}}', false],
  ['{"7": {"id": 7}}', false],
  ['{"1": null, "2": null}', false],
  ['{}', false],
] as const)('the names of %s are a field of the rows: %s', (text, expected) => {
  expect(isNamedByField(parseJson(text) as Record<string, unknown>)).toBe(expected);
});

it('exactNumber recognises one number in two spellings', () => {
  expect(['1.10', '100e-2', '-0', '1E2', '0.000001', '123456789012345680000'].map(exactNumber)).toEqual([
    1.1, 1, -0, 100, 0.000001, 123456789012345680000,
  ]);
});

function plain(value: number | string): string {
  const text = String(value);
  return /e/i.test(text) ? BigInt(value as number).toString() : text;
}

/** The exact value in units of 1e-12. */
function scaled(text: string): bigint {
  const [, minus, whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  const units = BigInt(whole + fraction.padEnd(12, '0'));
  return minus ? -units : units;
}
