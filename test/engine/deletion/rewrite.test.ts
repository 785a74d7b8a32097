import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { lookOf, quoted, type Replaced, rewriteLimitOf } from '../../../src/engine/deletion/rewrite.ts';

const AMOUNTS = ['12.50', '3', '7.20', '1999.99', '40.00', '0.35'];
const NAMES = ['Müller & Söhne', 'Café Zoë', 'Weiß GmbH', 'Ångström AB', 'Łódź Sp.', 'Ødegård'];

const pairs = (befores: readonly string[], change: (before: string, index: number) => string): Replaced[] =>
  befores.map((before, index) => ({ key: `${index}`, before, after: change(before, index) }));

describe('what replaced values look like', () => {
  test.each([
    ['0.00 for amounts', pairs(AMOUNTS, () => '0.00'), '"0.00" in place of values'],
    ['n/a for names', pairs(NAMES, () => 'N/A'), '"N/A" in place of values'],
    ['one status for all', pairs(['Paid', 'Draft', 'Open'], () => 'Unpaid'), 'one value for all: "Unpaid"'],
    ['cents for euros', pairs(AMOUNTS, amount => (Number(amount) * 100).toFixed(0)), '100 times the value'],
    ['euros for cents', pairs(['1250', '300', '720'], amount => `${Number(amount) / 100}`), '0.01 times the value'],
    ['the other sign', pairs(AMOUNTS, amount => `-${amount}`), '-1 times the value'],
    ['a day', pairs(['2026-03-01', '2026-12-31', '2024-02-29'], shifted(-1)), 'moments 1 day earlier'],
    [
      'two hours',
      pairs(['2026-03-01 10:00:00+00', '2026-12-31 23:30:00+00'], at =>
        at.replace('10:00', '12:00').replace('2026-12-31 23:30', '2027-01-01 01:30'),
      ),
      'moments 2 hours later',
    ],
    ['masks', pairs(NAMES, name => `${name[0]}***${name.length}`), 'masked values'],
    ['UTF-8 as Latin-1', pairs(NAMES, name => Buffer.from(name).toString('latin1')), 'text of another encoding'],
    [
      'UTF-8 as Windows-1252',
      pairs(NAMES, name => new TextDecoder('windows-1252').decode(Buffer.from(name))),
      'text of another encoding',
    ],
    ['question marks', pairs(NAMES, name => name.replaceAll(/\P{ASCII}/gu, '?')), 'text of another encoding'],
    [
      'replacement characters',
      pairs(NAMES, name => name.replaceAll(/\P{ASCII}/gu, '\uFFFD')),
      'text of another encoding',
    ],
    ['cut off', pairs(NAMES, name => name.slice(0, 4)), 'text that was cut off'],
    ['cut off with dots', pairs(NAMES, name => `${name.slice(0, 4)}...`), 'text that was cut off'],
    ['capitals', pairs(NAMES, name => name.toUpperCase().replace('WEISS', 'WEIß')), 'other capital letters'],
    ['blanks', pairs(NAMES, name => ` ${name}  `), 'other blanks'],
    ['of other rows', pairs(NAMES, (_, index) => NAMES[(index + 1) % NAMES.length] as string), 'values of other rows'],
    ['nothing in common', pairs(NAMES, (_, index) => `${['x', 'yy', 'zzz', 'ab', 'cd', 'ef'][index]} Ltd`), null],
    ['no pair', [], null],
  ])('%s', (_, given, look) => {
    expect(lookOf(given)).toBe(look);
  });

  test('a tenth of honest edits between them changes nothing', () => {
    const scaled = pairs(
      Array.from({ length: 20 }, (_, index) => `${index + 1}.50`),
      amount => `${Number(amount) * 100}`,
    );
    expect(lookOf(scaled.map((pair, index) => (index < 2 ? { ...pair, after: '3' } : pair)))).toBe(
      '100 times the value',
    );
    expect(lookOf(scaled.map((pair, index) => (index < 5 ? { ...pair, after: `${index}3` } : pair)))).not.toBe(
      '100 times the value',
    );
  });

  test('any texts have a look or none, and a quote stays short', () => {
    const pair = fc.record({
      key: fc.string(),
      before: fc.string({ unit: 'binary' }),
      after: fc.string({ unit: 'binary' }),
    });
    fc.assert(
      fc.property(fc.array(pair, { maxLength: 20 }), given => {
        const look = lookOf(given);
        expect(look === null || look.length < 400).toBe(true);
        for (const { after } of given) expect(JSON.parse(quoted(after)).length).toBeLessThanOrEqual(41);
      }),
    );
  });
});

function shifted(days: number): (day: string) => string {
  return day => new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10);
}

test('a quarter may be replaced, and 19 in any case', () => {
  expect(rewriteLimitOf(0)).toBe(19);
  expect(rewriteLimitOf(79)).toBe(19);
  expect(rewriteLimitOf(400)).toBe(100);
  expect(rewriteLimitOf(400, 0.5)).toBe(200);
  expect(rewriteLimitOf(400, 1)).toBe(Number.POSITIVE_INFINITY);
});
