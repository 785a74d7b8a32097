import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cleanText, jsonText, MAX_DEPTH, plainText, uncleanIn, wholeJson } from '../../../src/engine/storable-text.ts';
import { BadValue, dateText, decimalText, integerText, stampText } from '../../../src/source/answers/values.ts';
import { withDatabase } from '../../support/database.ts';

const digits = (min: number, max: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: min, maxLength: max }).map(list => list.join(''));

/** A number as a source may write it, and its exact value: mantissa * 10^exponent. */
const written = fc
  .record({
    sign: fc.constantFrom('', '-', '+'),
    whole: digits(0, 25),
    fraction: fc.option(digits(0, 25)),
    exponent: fc.option(fc.integer({ min: -30, max: 30 })),
    letter: fc.constantFrom('e', 'E'),
    plus: fc.boolean(),
  })
  .filter(({ whole, fraction }) => whole !== '' || (fraction !== null && fraction !== ''))
  .map(({ sign, whole, fraction, exponent, letter, plus }) => {
    const point = fraction === null ? '' : `.${fraction}`;
    const power = exponent === null ? '' : `${letter}${exponent >= 0 && plus ? '+' : ''}${exponent}`;
    const mantissa = BigInt(`${whole}${fraction ?? ''}`) * (sign === '-' ? -1n : 1n);
    return { text: `${sign}${whole}${point}${power}`, mantissa, exponent: (exponent ?? 0) - (fraction ?? '').length };
  });

/** Exact values are compared multiplied by 10^100. */
const SCALE = 100;
const scaled = (mantissa: bigint, exponent: number) => mantissa * 10n ** BigInt(SCALE + exponent);
function exactOf(plain: string): bigint {
  const [whole = '', fraction = ''] = plain.replace('-', '').split('.');
  const value = scaled(BigInt(whole + fraction), -fraction.length);
  return plain.startsWith('-') ? -value : value;
}

describe('decimals', () => {
  test('keep the exact number, in whatever form it was written', () => {
    fc.assert(
      fc.property(written, ({ text, mantissa, exponent }) => {
        const plain = decimalText(text) as string;
        expect(plain).toMatch(/^(-?[1-9]\d*|-?0(?=\.)|0)(\.\d*[1-9])?$/);
        expect(exactOf(plain)).toBe(scaled(mantissa, exponent));
      }),
      { numRuns: 1000 },
    );
  });

  test('have one form for each value, and parsing that form does not change it', () => {
    fc.assert(
      fc.property(written, written, (a, b) => {
        const plain = decimalText(a.text) as string;
        expect(decimalText(plain)).toBe(plain);
        const equal = scaled(a.mantissa, a.exponent) === scaled(b.mantissa, b.exponent);
        expect(plain === decimalText(b.text)).toBe(equal);
      }),
    );
  });

  test('keep every digit that JavaScript prints', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e40, max: 1e40 }), number => {
        expect(Number(decimalText(number))).toBe(number === 0 ? 0 : number);
      }),
      { numRuns: 1000 },
    );
  });

  test('are read by Postgres as the same number', async () => {
    await withDatabase(async database => {
      const samples = fc.sample(written, 500);
      const { rows } = await database.query<{ different: string }>(
        `select count(*) as different from unnest($1::text[], $2::text[]) as t(given, plain)
         where given::numeric is distinct from plain::numeric or plain <> trim_scale(plain::numeric)::text`,
        [samples.map(({ text }) => text), samples.map(({ text }) => decimalText(text))],
      );
      expect(rows[0]?.different).toBe('0');
    });
  });

  test.each([[null], ['']])('%j is none', value => expect(decimalText(value)).toBeNull());

  test.each([
    ['1,234.50'],
    ['12 34'],
    ['abc'],
    ['1.2.3'],
    ['.'],
    ['-'],
    ['1e'],
    ['0x10'],
    ['1e1001'],
    ['1'.repeat(1001)],
    ['NaN'],
    ['Infinity'],
    ['-Infinity'],
    ['1\0'],
    [' '],
    [true],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [{}],
    [[]],
    [undefined],
  ])('%j is refused', value => expect(() => decimalText(value)).toThrow(BadValue));
});

describe('integers', () => {
  test('are exact up to 64 bits, and refused beyond', () => {
    const edge = 9223372036854775807n;
    fc.assert(
      fc.property(fc.bigInt({ min: -2n * edge, max: 2n * edge }), number => {
        if (number > edge || number < -edge - 1n) expect(() => integerText(String(number))).toThrow(BadValue);
        else expect(integerText(String(number))).toBe(String(number));
      }),
    );
    expect(integerText(String(edge))).toBe(String(edge));
    expect(integerText(String(-edge - 1n))).toBe(String(-edge - 1n));
    expect(() => integerText(String(edge + 1n))).toThrow(BadValue);
  });

  test('may have a zero fraction or an exponent, but no other fraction', () => {
    expect(integerText('17.00')).toBe('17');
    expect(integerText('1.7e1')).toBe('17');
    expect(integerText(17)).toBe('17');
    expect(() => integerText('17.5')).toThrow(BadValue);
  });
});

const anyDay = fc
  .integer({ min: Date.parse('0001-01-01') / 86_400_000, max: Date.parse('9999-12-31') / 86_400_000 })
  .map(day => new Date(day * 86_400_000).toISOString().slice(0, 10));

describe('dates', () => {
  test('keep their day, whatever time and zone follow it', () => {
    const behind = fc.constantFrom('', ' 00:00:00', 'T23:59:59Z', 'T23:30:00-11:00', 'T00:30:00+14:00', ' 10:00');
    fc.assert(
      fc.property(anyDay, behind, (day, rest) => {
        expect(dateText(`${day}${rest}`)).toBe(day);
      }),
    );
  });

  test('that do not exist are refused', () => {
    const parts = fc.tuple(
      fc.integer({ min: 1, max: 9999 }),
      fc.integer({ min: 0, max: 14 }),
      fc.integer({ min: 0, max: 33 }),
    );
    fc.assert(
      fc.property(parts, ([year, month, day]) => {
        const pad = (n: number, width: number) => String(n).padStart(width, '0');
        const text = `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`;
        const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
        const length = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
        if (day >= 1 && day <= length) expect(dateText(text)).toBe(text);
        else expect(() => dateText(text)).toThrow(BadValue);
      }),
      { numRuns: 1000 },
    );
  });

  test.each([[null], [''], ['0000-00-00'], ['0000-00-00 00:00:00']])('%j is none', value => {
    expect(dateText(value)).toBeNull();
    expect(stampText(value)).toBeNull();
  });

  test.each([
    ['15/01/2026'],
    ['10000-01-01'],
    ['0044-03-15 BC'],
    ['-0044-03-15'],
    ['2026-01-15 10:00 BC'],
    ['2026-01-15T25:00:00'],
    ['infinity'],
    ['2026-1-5'],
    ['2026-01'],
    ['tomorrow'],
    ['0000-01-01'],
    [20260115],
    [{}],
  ])('%j is refused', value => expect(() => dateText(value)).toThrow(BadValue));
});

const two = (max: number) => fc.integer({ min: 0, max }).map(n => String(n).padStart(2, '0'));
const stamp = fc
  .record({
    day: anyDay,
    between: fc.constantFrom('T', ' '),
    time: fc.tuple(two(23), two(59), two(59)).map(parts => parts.join(':')),
    fraction: fc.oneof(
      fc.constant(''),
      digits(1, 6).map(text => `.${text}`),
    ),
    zone: fc.oneof(
      fc.constantFrom('', 'Z', 'z', ' Z'),
      fc
        .tuple(fc.constantFrom('+', '-'), two(15), fc.constantFrom('', '00', ':30', ':45'))
        .map(parts => parts.join('')),
    ),
  })
  .map(({ day, between, time, fraction, zone }) => `${day}${between}${time}${fraction}${zone}`);

describe('time stamps', () => {
  test('as seconds or milliseconds since the epoch, as a number or as text, are that moment', () => {
    const moment = fc.integer({ min: 1e8, max: 1e10 - 1 });
    fc.assert(
      fc.property(moment, fc.integer({ min: 0, max: 999 }), (seconds, millis) => {
        const whole = new Date(seconds * 1000).toISOString().replace('.000', '');
        expect([stampText(seconds), stampText(String(seconds)), stampText(`${seconds}.0`)]).toEqual([
          whole,
          whole,
          whole,
        ]);
        const ms = seconds * 1000 + millis;
        const fine = stampText(ms);
        expect([Date.parse(fine as string), stampText(String(ms))]).toEqual([ms, fine]);
      }),
    );
    expect(stampText('1768471200.123456')).toBe('2026-01-15T10:00:00.123456Z');
    expect([stampText(0), stampText('0')]).toEqual([null, null]);
  });

  test.each([[20260115], ['20260115'], ['20260115100000'], [-1768471200], [17684712001], ['1e9']])(
    '%j is neither, and refused',
    value => expect(() => stampText(value)).toThrow(BadValue),
  );

  test('are kept as received, and Postgres reads them as the same moment', async () => {
    const samples = fc.sample(stamp, 500).filter(text => text > '0001-01-03' && text < '9999-12-30');
    for (const text of samples) expect(stampText(` ${text} `)).toBe(text);
    await withDatabase(async database => {
      const { rows } = await database.query<{ ms: number }>(
        `select (extract(epoch from t::timestamptz) * 1000)::float8 as ms from unnest($1::text[]) with ordinality u(t, at) order by at`,
        [samples],
      );
      expect(rows).toHaveLength(samples.length);
      for (const [index, text] of samples.entries()) {
        const iso = text
          .replace(' Z', 'Z')
          .replace(' ', 'T')
          .replace(/z$/, 'Z')
          .replace(/([+-]\d\d)$/, '$1:00')
          .replace(/([+-]\d\d)(\d\d)$/, '$1:$2')
          .replace(/(\d\d:\d\d:\d\d(?:\.\d+)?)$/, '$1Z');
        expect(Math.abs((rows[index]?.ms ?? 0) - Date.parse(iso)), text).toBeLessThan(1.001);
      }
    });
  });

  test.each([
    ['2026-02-30T10:00:00Z'],
    ['2026-01-15T24:00:00Z'],
    ['2026-01-15T10:60:00Z'],
    ['2026-01-15'],
    ['now'],
    ['infinity'],
    ['2026-01-15T10:00:00+99:99'],
    ['2026-01-15T10:00:00+16:00'],
    ['2026-01-15T10:00:00-05:60'],
    ['2026-01-15T10:00:00Z BC'],
    ['0000-01-15T10:00:00Z'],
    ['10000-01-15T10:00:00Z'],
    [`2026-01-15T10:00:00.${'1'.repeat(21)}Z`],
    [5],
  ])('%j is refused', value => expect(() => stampText(value)).toThrow(BadValue));
});

/** Text with NUL characters and halves of surrogate pairs. */
const dirty = fc
  .array(
    fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('\0', '\ud800', '\udfff', '🧾', 'é', '"', '\\u0000')),
  )
  .map(parts => parts.join(''));

describe('text', () => {
  test('loses NUL characters and broken surrogates, and nothing else', () => {
    fc.assert(
      fc.property(dirty, text => {
        const clean = cleanText(text);
        expect(clean).not.toContain('\0');
        expect(clean.isWellFormed()).toBe(true);
        expect(cleanText(clean)).toBe(clean);
        if (text.isWellFormed()) expect(clean).toBe(text.split('\0').join(''));
      }),
      { numRuns: 1000 },
    );
  });

  test('numbers and booleans become text; lists and objects are refused', () => {
    expect(plainText(0.5)).toBe('0.5');
    expect(plainText(1e21)).toBe('1000000000000000000000');
    expect(plainText(false)).toBe('false');
    expect(plainText('')).toBe('');
    expect(plainText(null)).toBeNull();
    expect(() => plainText([])).toThrow(BadValue);
    expect(() => plainText({})).toThrow(BadValue);
  });

  test('unknown fields become JSON that jsonb accepts, unchanged except for the cleaning', async () => {
    const json = fc.letrec(tie => ({
      value: fc.oneof(
        { depthSize: 'small' },
        dirty,
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value')),
        fc.dictionary(fc.oneof(dirty, fc.constant('__proto__')), tie('value')),
      ),
    })).value;
    const clean = (value: unknown): unknown => {
      if (typeof value === 'string') return cleanText(value);
      if (Array.isArray(value)) return value.map(clean);
      if (value === null || typeof value !== 'object') return value;
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [cleanText(key), clean(item)]));
    };
    const namesCollide = (value: unknown): boolean => {
      if (value === null || typeof value !== 'object') return false;
      const names = Object.keys(value);
      return new Set(names.map(cleanText)).size < names.length || Object.values(value).some(namesCollide);
    };
    const samples = fc
      .sample(json, 300)
      .map(value => JSON.parse(JSON.stringify(value)) as unknown)
      .filter(value => !namesCollide(value));
    await withDatabase(async database => {
      const { rows } = await database.query<{ value: unknown }>(
        'select t::jsonb as value from unnest($1::text[]) with ordinality u(t, at) order by at',
        [samples.map(sample => jsonText(sample).text)],
      );
      for (const [index, sample] of samples.entries()) expect(rows[index]?.value).toEqual(clean(sample));
    });
  });

  test('of unknown fields reports how many characters the cleaning removed, at any depth', () => {
    fc.assert(
      fc.property(dirty, dirty, dirty, (name, first, second) => {
        const lost = uncleanIn(name) + uncleanIn(first) + uncleanIn(second);
        expect(jsonText({ [name]: [first, { x: second }] }).cleaned).toBe(lost);
      }),
    );
    expect(uncleanIn('a\0\0b\ud800')).toBe(3);
    expect(uncleanIn('🧾\\u0000')).toBe(0);
  });

  test('is refused, not cleaned, if two names would become one or if it nests too deep', () => {
    expect(() => jsonText({ a: 1, 'a\0': 2 })).toThrow(BadValue);
    expect(() => jsonText(nested(MAX_DEPTH + 1))).toThrow(BadValue);
    expect(JSON.parse(jsonText(nested(MAX_DEPTH)).text)).toEqual(nested(MAX_DEPTH));
  });

  test('is kept completely as JSON, whatever it holds and however deep it nests', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        const text = JSON.stringify(value);
        expect(wholeJson(JSON.parse(text))).toBe(text);
        expect(wholeJson(nested(MAX_DEPTH, JSON.parse(text)))).toBe(
          `${'[1,{"x":'.repeat(MAX_DEPTH / 2)}${text}${'}]'.repeat(MAX_DEPTH / 2)}`,
        );
      }),
    );
    expect(wholeJson(nested(20_000))).toBe(`${'[1,{"x":'.repeat(10_000)}0${'}]'.repeat(10_000)}`);
    expect(wholeJson('a\0\ud800')).toBe('"a\\u0000\\ud800"');
  });
});

/** A value nested in `levels` of alternating lists and objects. */
function nested(levels: number, inside: unknown = 0): unknown {
  let value = inside;
  for (let level = 0; level < levels; level += 2) value = [1, { x: value }];
  return value;
}
