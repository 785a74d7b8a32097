import { chmodSync, chownSync, lchownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { useFolder } from './use-folder.ts';

const { folder, read, problems } = useFolder();

const STRANGER = 12_345;
const hasOwners = process.geteuid !== undefined;
/** Only root can give a file away. */
const isRoot = process.geteuid?.() === 0;

const ADDRESS = 'SOURCE_URL=https://books.example\n';
const SOURCES = JSON.stringify([{ name: 'vienna', url: 'https://vienna.example', api_key_from: 'VIENNA_KEY' }]);
const KEYS = { SOURCE_API_KEY: 'key-1', VIENNA_KEY: 'key-2' };

function write(name: string, text: string, mode = 0o600): string {
  const path = join(folder.path, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

describe.each([
  ['.env', ADDRESS],
  ['sources.json', SOURCES],
])('%s', (name, text) => {
  test.runIf(hasOwners).each(['0666', '0660', '0602'])('is refused if others may write it: mode %s', mode => {
    const path = write(name, text, Number.parseInt(mode, 8));
    expect(problems(KEYS)).toBe(
      `A setting is wrong: ${path} may be written by other users (mode ${mode}), who could send your key elsewhere; to use it: chmod go-w ${path}.`,
    );
  });

  test.runIf(isRoot)('is refused if it belongs to another user, who could send a key elsewhere', () => {
    const path = write(name, text);
    chownSync(path, STRANGER, STRANGER);
    expect(problems(KEYS)).toContain(`${path} belongs to another user (id ${STRANGER})`);
    expect(problems(KEYS)).toContain(`sudo chown 0 ${path}.`);
  });

  test.runIf(isRoot)('is refused behind a link of another user, and accepted behind one of our own', () => {
    mkdirSync(join(folder.path, 'real'));
    const link = join(folder.path, name);
    symlinkSync(write('real/file', text), link);
    expect(read(KEYS).sources).toHaveLength(1);
    lchownSync(link, STRANGER, STRANGER);
    expect(problems(KEYS)).toContain(`${link} belongs to another user (id ${STRANGER})`);
  });

  test.runIf(isRoot)('in a folder of another user sends no key of the environment to its address', () => {
    const path = write(name, text);
    chownSync(folder.path, STRANGER, STRANGER);
    expect(problems(KEYS)).toMatch(
      /lies in a folder of another user \(id 12345\) and would send (SOURCE_API|VIENNA)_KEY/,
    );
    expect(problems(KEYS)).toContain(path);
    // Without a key there is nothing to send, and the address and the key may come from one place.
    expect(read({}).sources).toHaveLength(1);
    write('.env', `${ADDRESS}SOURCE_API_KEY=key-1\nVIENNA_KEY=key-2\n`);
    expect(read({}, true).sources[0]?.settings?.apiKey).toMatch(/^key-/);
  });

  test('is named as what an address comes from', () => {
    const path = write(name, text);
    expect(read(KEYS).sources).toMatchObject([{ addressFile: path }]);
  });
});

test('an address of the environment comes from no file', () => {
  write('.env', ADDRESS);
  expect(read({ ...KEYS, SOURCE_URL: 'https://mine.example' }).sources).toMatchObject([{ addressFile: null }]);
  expect(read({}).sources).toMatchObject([{ settings: null }]);
});

test.runIf(isRoot)('an address of the environment is used in a folder of another user', () => {
  write('.env', ADDRESS);
  chownSync(folder.path, STRANGER, STRANGER);
  expect(read({ ...KEYS, SOURCE_URL: 'https://mine.example' }).sources).toMatchObject([
    { settings: { url: 'https://mine.example' } },
  ]);
});

test.runIf(hasOwners).each([
  ['SOURCE_API_KEY=key-1', true],
  ['VIENNA_KEY=key-1', true],
  ['DATABASE_URL=postgres://me:secret@db.example/sluice', true],
  ['SLUICE_TOKEN=1234567890123456', true],
  ['SOURCE_API_KEY=', false],
  ['SOURCE_URL=https://books.example', false],
])('a .env with %s that everybody may read is warned about: %s', (line, warned) => {
  const path = write('.env', `${line}\n`, 0o644);
  expect(read({}).warnings).toEqual(
    warned
      ? [`${path} holds a key, and every user of this machine may read it; to keep it to yourself: chmod o-r ${path}`]
      : [],
  );
  // A group, such as that of the service, may read it.
  chmodSync(path, 0o640);
  expect(read({}).warnings).toEqual([]);
});

const named = (name: string) => {
  write('sources.json', SOURCES.replace('VIENNA_KEY', name));
  return problems({ [name]: 'postgres://secret-value' });
};

test.each(['HOME', 'AWS_SECRET', 'PGPASSWORD', 'KEY', 'MY_KEYS'])('sources.json cannot name %s as a key', name => {
  const message = named(name);
  expect(message).toBe(
    `A setting is wrong: sources.json, source 1 (vienna): api_key_from names ${name}; expected a variable whose name ends with _KEY or _TOKEN or starts with SOURCE_ or SLUICE_, such as VIENNA_KEY.`,
  );
});

test.each(['SLUICE_TOKEN', 'DATABASE_URL', 'SOURCE_URL'])('nor the setting %s', name => {
  expect(named(name)).toContain(
    `sources.json, source 1 (vienna): api_key_from names the setting ${name}; expected a variable of its own, such as VIENNA_KEY.`,
  );
});

test.each(['VIENNA_KEY', 'VIENNA_TOKEN', 'SOURCE_VIENNA', 'SLUICE_VIENNA', 'SOURCE_API_KEY'])(
  'sources.json can name %s as a key',
  name => {
    write('sources.json', SOURCES.replace('VIENNA_KEY', name));
    expect(read({ [name]: 'key-1' }, true).sources[0]?.settings?.apiKey).toBe('key-1');
  },
);
