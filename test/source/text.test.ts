import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { classify } from '../../src/source/answers/classify.ts';
import { decodeText } from '../../src/source/answers/text.ts';

const JSON_TYPE = 'application/json';
const latin1 = (text: string) => Buffer.from(text, 'latin1');

describe('the encoding of an answer', () => {
  test('valid UTF-8 comes out exactly, whatever encoding of single bytes is named', () => {
    const type = fc.constantFrom(
      undefined,
      JSON_TYPE,
      `${JSON_TYPE}; charset=utf-8`,
      `${JSON_TYPE}; charset=ISO-8859-1`,
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), type, (text, contentType) => {
        expect(decodeText(Buffer.from(text.toWellFormed()), contentType)).toEqual({ text: text.toWellFormed() });
      }),
    );
  });

  it.each([
    ['iso-8859-1', Buffer.from([0x5a, 0xfc, 0x72, 0x69, 0x63, 0x68]), 'Zürich'],
    ['"ISO-8859-1"', Buffer.from([0x5a, 0xfc, 0x72, 0x69, 0x63, 0x68]), 'Zürich'],
    ['windows-1252', Buffer.from([0x80, 0x20, 0x35]), '€ 5'],
    ['ISO-8859-15', Buffer.from([0xa4]), '€'],
    ['Shift_JIS', Buffer.from([0x93, 0x8c, 0x8b, 0x9e]), '東京'],
    ['utf-16le', Buffer.from('東京', 'utf16le'), '東京'],
  ])('is %s if the answer says so', (charset, bytes, text) => {
    expect(decodeText(bytes, `${JSON_TYPE}; charset=${charset}`)).toEqual({ text });
  });

  it('is UTF-8 if the named one is unknown', () => {
    expect(decodeText(Buffer.from('Zürich'), `${JSON_TYPE}; charset=x-unknown`)).toEqual({ text: 'Zürich' });
    expect(decodeText(latin1('Zürich'), `${JSON_TYPE}; charset=x-unknown`).mark).toBeDefined();
  });
});

describe('invalid bytes', () => {
  test('are marked, one mark for each, and U+FFFD that the source sent is not', () => {
    const piece = fc.constantFrom('a', 'é', '\ufffd', '\ufdd0', '\ufdef', '東', '"\\ufdd1"');
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, fc.constant(null)), { minLength: 1, maxLength: 30 }), pieces => {
        const bytes = Buffer.concat(pieces.map(each => (each === null ? Buffer.from([0xff]) : Buffer.from(each))));
        const { text, mark } = decodeText(bytes, JSON_TYPE);
        const expected = pieces.map(each => each ?? mark ?? '').join('');
        if (pieces.includes(null)) expect(mark).toBeDefined();
        else expect(mark).toBeUndefined();
        expect(text).toBe(expected);
      }),
    );
  });

  const judge = (body: unknown) =>
    classify({ status: 200, headers: {}, ...decodeText(latin1(JSON.stringify(body)), JSON_TYPE) }, 'list', {
      nowMs: 0,
      windowMs: 1000,
      unused: 1,
    });

  it('are counted by record, at any depth and in names; U+FFFD that the source sent is not', () => {
    const utf8 = Buffer.from('\ufffd').toString('latin1');
    const data = [
      { id: 1, account: 'Z\u00fcrich' },
      { id: 2, account: `Bern ${utf8}` },
      { id: 3, items: [{ description: '\u00fc\u00fc' }], 'f\u00fc': 1 },
    ];
    expect(judge({ data, message: '\u00fc' })).toEqual({
      kind: 'success',
      body: {
        data: [
          { id: 1, account: 'Z\ufffdrich' },
          { id: 2, account: 'Bern \ufffd' },
          { id: 3, items: [{ description: '\ufffd\ufffd' }], 'f\ufffd': 1 },
        ],
        message: '\ufffd',
      },
      replaced: 2,
    });
    expect(judge({ data: data.slice(1, 2), message: '\u00fc' })).toMatchObject({ replaced: 0 });
    expect(judge({ data: data.slice(1, 2) })).not.toHaveProperty('replaced');
    expect(judge({ data: { 0: data[0], 2: data[1] } })).toMatchObject({ replaced: 1 });
  });
});
