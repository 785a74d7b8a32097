import fc from 'fast-check';
import { expect, test } from 'vitest';
import { visibleJson, visibleLines, visibleText } from '../src/visible-text.ts';

test.each([
  ['C0 and DEL', '\x1b[2J\0\x07\x7f', '\\x1b[2J\\x00\\x07\\x7f'],
  ['C1', '\x9b31m\x85', '\\x9b31m\\x85'],
  ['direction', 'a\u202eb\u2066c\u200f', 'a\\u202eb\\u2066c\\u200f'],
  ['no width', 'a\u200bb\u2060c\ufeff\u00ad', 'a\\u200bb\\u2060c\\ufeff\\xad'],
  ['line and paragraph separators', 'a\u2028b\u2029', 'a\\u2028b\\u2029'],
  ['tags', 'a\u{e0041}', 'a\\u{e0041}'],
  ['line ends and tabs', 'a\r\nb\tc', 'a\\r\\nb\\tc'],
])('%s are shown as escapes', (_what, text, shown) => {
  expect(visibleText(text)).toBe(shown);
});

test('text of any language stays as it is', () => {
  for (const text of ['Größe', '漢字', 'سلام', 'e\u0301', '💡', 'a b', '€ 1.50', 'C:\\x1b'])
    expect(visibleText(text)).toBe(text);
});

test('nothing invisible is left in any text, but line ends where lines are wanted', () => {
  const text = fc.string({ unit: 'binary' });
  fc.assert(
    fc.property(text, given => {
      expect(visibleText(given)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      expect(visibleLines(given).replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }),
  );
});

test('JSON keeps its meaning', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' })), given => {
      const json = visibleJson(JSON.stringify(given, null, 2));
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(given)));
      expect(json.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }),
  );
});
