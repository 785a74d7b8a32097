import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readLines } from '../../src/cli/push/read-lines.ts';
import { checkLines, PUSH_TARGETS, type PushTarget } from '../../src/push/targets.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'push-file-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const { customers, invoices, transactions } = PUSH_TARGETS as Record<string, PushTarget>;

async function check(name: string, text: string | Buffer, target = customers as PushTarget) {
  const path = join(folder, name);
  writeFileSync(path, text);
  return checkLines(target, readLines(path, target));
}

const numbered = ({ lines }: Awaited<ReturnType<typeof check>>) => lines.map(({ line, body }) => [line, body]);

describe('CSV', () => {
  test('line numbers are those of the file, with BOM, CR LF, quoted line ends, blank lines and no final line end', async () => {
    const text = '\ufeffaccount,email\r\n"A\r\nB, ""C""",a@x.io\r\n\r\n,\r\nD,\r\nE,nonsense\r\n"F\nG\n",f@x.io';
    const read = await check('a.csv', text);
    expect(numbered(read)).toEqual([
      [2, { account: 'A\r\nB, "C"', email: 'a@x.io' }],
      [6, { account: 'D' }],
      [8, { account: 'F\nG\n', email: 'f@x.io' }],
    ]);
    expect(read.problems).toEqual([{ line: 7, reason: 'email must be an e-mail address such as ann@example.com' }]);
  });

  test('numbers are exact decimals; one that cannot be sent exactly is refused', async () => {
    const head = 'date,type,account_id,amount\n';
    const row = (amount: string) => `2026-01-15,Income,7,${amount}\n`;
    const text = head + ['1500.10', '0.1', '12345678901234567.89', '"1,5"', '-1'].map(row).join('');
    const read = await check('a.csv', text, transactions);
    expect(read.lines.map(({ body }) => body.amount)).toEqual([1500.1, 0.1]);
    expect(read.problems).toEqual([
      { line: 4, reason: 'amount has more digits than can be sent exactly' },
      { line: 5, reason: 'amount must be a number such as 1500.5' },
      { line: 6, reason: 'amount must be greater than 0' },
    ]);
  });

  test('a list is written as JSON in its cell', async () => {
    const text = `customer_id,date,items\n7,2026-01-15,"[{""amount"":10.5,""qty"":2}]"\n7,2026-01-15,two lamps\n`;
    const read = await check('a.csv', text, invoices);
    expect(numbered(read)).toEqual([[2, { customer_id: 7, date: '2026-01-15', items: [{ amount: 10.5, qty: 2 }] }]]);
    expect(read.problems).toEqual([{ line: 3, reason: 'items must be a list of items' }]);
  });

  test('an unknown column is reported with the column that was probably meant', async () => {
    const { problems } = await check('a.csv', 'acount,emial,fax\nA,a@x.io,1\n');
    expect(problems).toMatchObject([
      {
        line: 1,
        reason: expect.stringContaining(
          'unknown columns "acount" (did you mean "account"?), "emial" (did you mean "email"?), "fax" in the header',
        ) as string,
      },
    ]);
  });

  test('an unknown column, a row of the wrong length and a misplaced quote are reported by line', async () => {
    const header = await check('a.csv', 'account;email\nA;a@x.io\n');
    expect(header.problems).toEqual([
      { line: 1, reason: expect.stringContaining('unknown column "account;email" in the header; allowed') },
    ]);
    expect((await check('a.csv', 'account,account\nA,B\n')).problems).toMatchObject([{ line: 1 }]);
    const rest = await check('a.csv', 'account,email\nA,a@x.io,1\nB,b@x.io\nC\nD,"d\nE,e@x.io\n');
    expect(numbered(rest)).toEqual([[3, { account: 'B', email: 'b@x.io' }]]);
    expect(rest.problems).toEqual([
      { line: 2, reason: 'has 3 cells, but the header has 2' },
      { line: 4, reason: 'has 1 cell, but the header has 2' },
      { line: 5, reason: expect.stringContaining('opens a quote that is never closed') },
    ]);
    const stray = await check('a.csv', 'account,email\nA,a@x.io\nB "C",b@x.io\nD,d@x.io\n');
    expect([stray.lines.length, stray.problems]).toEqual([
      1,
      [{ line: 3, reason: expect.stringContaining('has a misplaced quote') }],
    ]);
  });

  test('every value written as CSV is read back unchanged, with the line it starts on', async () => {
    const cell = fc.string({ unit: fc.constantFrom('a', 'ü', '"', ',', ';', '\n', '\r\n', ' ', '💡'), minLength: 1 });
    const filled = cell.filter(text => text.trim() !== '');
    const rows = fc.array(fc.tuple(filled, cell), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(rows, fc.constantFrom('\n', '\r\n'), async (written, end) => {
        const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
        let text = `account,phone${end}`;
        const expected: unknown[] = [];
        for (const [account, phone] of written) {
          expected.push([text.split('\n').length, { account, phone }]);
          text += `${quoted(account)},${quoted(phone)}${end}`;
        }
        expect(numbered(await check('a.csv', text))).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });
});

describe('NDJSON', () => {
  test('one object per line; blank lines are counted and skipped; null means no value; digits are exact', async () => {
    const text = [
      '\ufeff{"account":"A","phone":null}',
      '',
      '{"account":',
      '[1]',
      '{"account":"B","emial":"b@x.io"}\r',
      '{"account":"C\\nD"}',
    ].join('\n');
    const read = await check('a.ndjson', text);
    expect(numbered(read)).toEqual([
      [1, { account: 'A' }],
      [6, { account: 'C\nD' }],
    ]);
    expect(read.problems).toEqual([
      { line: 3, reason: 'is not JSON' },
      { line: 4, reason: 'the line must be an object' },
      { line: 5, reason: `emial is not a field of the API's document (did you mean "email"?)` },
    ]);
    const row = '{"date":"2026-01-15","type":"Income","account_id":7,"amount":12345678901234567.89}';
    expect((await check('a.jsonl', row, transactions)).problems).toMatchObject([
      { reason: 'amount has more digits than can be sent exactly' },
    ]);
  });
});

test('text that Postgres cannot store makes a line invalid, wherever it is', async () => {
  const csv = await check('a.csv', 'account,email\nA,a@x.io\nB\0,b@x.io\nC,c\0@x.io\n');
  expect(numbered(csv)).toEqual([[2, { account: 'A', email: 'a@x.io' }]]);
  expect(csv.problems).toEqual([
    { line: 3, reason: expect.stringMatching(/^account holds a character .* U\+0000/) },
    { line: 4, reason: expect.stringMatching(/^email holds a character /) },
  ]);
  const item = (text: string) => `{"customer_id":7,"date":"2026-01-15","items":[{"amount":1,"description":"${text}"}]}`;
  const texts = ['\\ud83e\\uddfe', '\\\\u0000', '\\ud83e', 'a\\u0000'];
  const ndjson = await check('a.ndjson', texts.map(item).join('\n'), invoices);
  expect(ndjson.lines.map(({ line }) => line)).toEqual([1, 2]);
  const reason = expect.stringMatching(/^items holds a character /) as string;
  expect(ndjson.problems).toEqual([
    { line: 3, reason },
    { line: 4, reason },
  ]);
});

test('equal lines have the same hash in any field order, and are told apart by an ordinal', async () => {
  const { lines } = await check(
    'a.ndjson',
    '{"account":"A","email":"a@x.io"}\n{"email":"a@x.io","account":"A"}\n{"account":"B"}\n',
  );
  expect(lines.map(({ ordinal }) => ordinal)).toEqual([1, 2, 1]);
  expect(lines[0]?.hash).toBe(lines[1]?.hash);
  expect(lines[0]?.hash).not.toBe(lines[2]?.hash);
});

test('another file format, an absent file and one that is not UTF-8 are wrong usage', async () => {
  await expect(check('a.xlsx', '')).rejects.toMatchObject({
    kind: 'usage',
    message: expect.stringContaining('a.xlsx'),
  });
  expect(() => readLines(join(folder, 'gone.csv'), customers as PushTarget)).toThrow(
    expect.objectContaining({ kind: 'usage', message: expect.stringContaining('ENOENT') as string }),
  );
  const latin = Buffer.from('account\nM\xfcller\n', 'latin1');
  await expect(check('a.csv', latin)).rejects.toMatchObject({ message: expect.stringContaining('not UTF-8') });
});
