import { linkSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { replaceFile, withChangedFile } from '../../src/config/changed-file.ts';
import { changeSetting, withVariable } from '../../src/config/setting-file.ts';
import type { SluiceError } from '../../src/errors.ts';

const folder = () => {
  const path = mkdtempSync(join(tmpdir(), 'sluice-settings-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
};

test.each([
  ['', 'SOURCE_RESERVE=30%\n'],
  ['A=1\n', 'A=1\nSOURCE_RESERVE=30%\n'],
  ['A=1', 'A=1\nSOURCE_RESERVE=30%\n'],
  ['A=1\nSOURCE_RESERVE=300\nB=2\n', 'A=1\nSOURCE_RESERVE=30%\nB=2\n'],
  ['A=1\r\nSOURCE_RESERVE=300\r\nB=2\r\n', 'A=1\r\nSOURCE_RESERVE=30%\r\nB=2\r\n'],
  ['  export SOURCE_RESERVE = "300" # others\n', 'SOURCE_RESERVE=30%\n'],
  ['#SOURCE_RESERVE=300\n', '#SOURCE_RESERVE=300\nSOURCE_RESERVE=30%\n'],
  ['SOURCE_RESERVE=1\nSOURCE_RESERVE=2\n', 'SOURCE_RESERVE=1\nSOURCE_RESERVE=30%\n'],
  // It stands inside of another value, or its own value goes on.
  ['A="\nSOURCE_RESERVE=300\n"\n', null],
  ["SOURCE_RESERVE='3\n00'\n", null],
])('%j', (text, expected) => {
  expect(withVariable(text, 'SOURCE_RESERVE', '30%')).toBe(expected);
});

test('whatever a .env file holds, one variable changes and no other, or the file is left alone', () => {
  const name = fc.constantFrom('A', 'B', 'SOURCE_NEVER');
  const value = fc.stringMatching(/^[a-z "'`#=\\$\n\r]{0,12}$/);
  const line = fc.oneof(
    fc.tuple(name, value).map(([key, text]) => `${key}=${text}`),
    fc.stringMatching(/^[A-Z#= "'\n]{0,9}$/),
  );
  fc.assert(
    fc.property(fc.array(line), fc.constantFrom('\n', '\r\n'), (lines, end) => {
      const text = lines.join(end);
      const changed = withVariable(text, 'SOURCE_NEVER', 'iban,customers.phone');
      if (changed !== null)
        expect({ ...parseEnv(changed) }).toEqual({ ...parseEnv(text), SOURCE_NEVER: 'iban,customers.phone' });
    }),
    { numRuns: 5000 },
  );
});

test('a setting is written where it stands: in the entry of its source, or in .env; never beside the environment', () => {
  const directory = folder();
  const change = (environment: Record<string, string> = {}, source = 'main') =>
    changeSetting({ environment, directory, source, setting: 'SOURCE_NEVER', value: 'iban,customers.phone' });
  const refusal = (environment: Record<string, string> = {}) => {
    try {
      change(environment);
    } catch (error) {
      return [(error as SluiceError).kind, (error as SluiceError).message];
    }
    return null;
  };
  expect(refusal()).toEqual(['failed', 'The settings come from the environment of the service.']);
  writeFileSync(join(directory, '.env'), 'SOURCE_URL=http://localhost\n');
  expect(refusal({ SOURCE_NEVER: 'iban' })).toEqual([
    'failed',
    'SOURCE_NEVER comes from the environment of the service.',
  ]);
  // As compose sets it: SOURCE_NEVER: ${SOURCE_NEVER:-}
  expect(refusal({ SOURCE_NEVER: '' })).toEqual([
    'failed',
    'SOURCE_NEVER comes from the environment of the service, where it is empty.',
  ]);
  expect(change()).toEqual({
    path: join(directory, '.env'),
    before: 'SOURCE_URL=http://localhost\n',
    after: 'SOURCE_URL=http://localhost\nSOURCE_NEVER=iban,customers.phone\n',
  });
  const entries = [
    { name: 'vienna', url: 'https://one.example.com', api_key_from: 'ONE_KEY', never: ['iban'] },
    { name: 'graz', url: 'https://two.example.com', api_key_from: 'TWO_KEY' },
  ];
  writeFileSync(join(directory, 'sources.json'), JSON.stringify(entries));
  const { path, after } = change({ SOURCE_NEVER: 'iban' }, 'graz');
  expect([path, JSON.parse(after)]).toEqual([
    join(directory, 'sources.json'),
    [entries[0], { ...entries[1], never: ['iban', 'customers.phone'] }],
  ]);
  writeFileSync(join(directory, 'sources.json'), JSON.stringify({ $schema: 'x.json', sources: entries }));
  expect(JSON.parse(change({}, 'graz').after)).toEqual({
    $schema: 'x.json',
    sources: [entries[0], { ...entries[1], never: ['iban', 'customers.phone'] }],
  });
});

test('a changed file keeps its mode, also behind a link, and is put back where the work fails before it commits', async () => {
  const directory = folder();
  const [file, link] = [join(directory, 'real.env'), join(directory, '.env')];
  writeFileSync(file, 'A=1\n', { mode: 0o600 });
  symlinkSync(file, link);
  replaceFile(link, 'A=2\n', 0o644);
  expect([readFileSync(file, 'utf8'), readFileSync(link, 'utf8')]).toEqual(['A=2\n', 'A=2\n']);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const failing = (commits: boolean) =>
    withChangedFile({ path: link, before: 'A=2\n', after: 'A=3\n' }, async commit => {
      expect(readFileSync(file, 'utf8')).toBe('A=3\n');
      if (commits) commit();
      throw new Error('no');
    });
  await expect(failing(false)).rejects.toThrow('no');
  expect(readFileSync(file, 'utf8')).toBe('A=2\n');
  await expect(failing(true)).rejects.toThrow('no');
  expect(readFileSync(file, 'utf8')).toBe('A=3\n');
});

test.each([
  ['a link', symlinkSync],
  ['another name of a file', linkSync],
])('what was left beside a file, such as %s, is never written, and gives it no mode', (_, plant) => {
  const directory = folder();
  const [file, theirs] = [join(directory, '.env'), join(directory, 'theirs')];
  writeFileSync(theirs, 'theirs', { mode: 0o644 });
  plant(theirs, `${file}.new`);
  replaceFile(file, 'SECRET=1\n', 0o600);
  expect([readFileSync(theirs, 'utf8'), readFileSync(file, 'utf8')]).toEqual(['theirs', 'SECRET=1\n']);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});
