import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { createLog, hideSecrets } from '../src/log.ts';

const SECRET = 'kö"??>/+ 7';

test('a secret is hidden in plain form and as encoded in JSON, in URLs of either case and in base64', () => {
  const encoded = encodeURIComponent(SECRET);
  const forms = [
    SECRET,
    JSON.stringify(SECRET).slice(1, -1),
    encoded,
    encoded.toLowerCase(),
    Buffer.from(SECRET).toString('base64'),
    Buffer.from(SECRET).toString('base64').replaceAll('=', ''),
    Buffer.from(SECRET).toString('base64url'),
  ];
  expect(new Set(forms).size).toBe(7);
  const hide = hideSecrets([SECRET]);
  for (const form of forms) expect(hide(`a ${form} b`)).toBe('a [secret] b');
});

test('secrets shorter than four characters are not hidden', () => {
  expect(hideSecrets(['', 'k', 'abc', 'abcd'])('k abc abcd')).toBe('k abc [secret]');
});

test('levels are numbers, or words on request', () => {
  const lines: { level: unknown; msg: string }[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)) as { level: unknown; msg: string });
      done();
    },
  });
  createLog({ level: 'info', destination }).warn('one');
  createLog({ level: 'info', levelWords: true, destination }).child({ source: 'main' }).warn('two');
  expect(lines).toMatchObject([{ level: 40 }, { level: 'warn', source: 'main' }]);
});

test('a log line hides secrets that became known after the logger was created', () => {
  let written = '';
  const destination = new Writable({
    write(chunk, _encoding, done) {
      written += String(chunk);
      done();
    },
  });
  let hide = (line: string) => line;
  const log = createLog({ level: 'info', hide: line => hide(line), destination });
  hide = hideSecrets(['later-secret']);
  log.child({ from: 'later-secret' }).info({ err: new Error('later-secret') }, 'said later-secret');
  expect(written).toContain('"msg":"said [secret]"');
  expect(written).not.toContain('later-secret');
});

test('a log line shows control, bidirectional and invisible characters as escapes that keep its meaning', () => {
  let written = '';
  const destination = { write: (line: string) => (written += line) } as unknown as NodeJS.WritableStream;
  const hostile = 'a\x1b[2J\x9b\u202e\u200b\u2028\x7f"\\';
  createLog({ level: 'info', destination }).info({ hostile }, hostile);
  expect(JSON.parse(written)).toMatchObject({ hostile, msg: hostile });
  expect(written.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
});
