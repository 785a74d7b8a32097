import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfig } from '../../src/config/read-config.ts';

const text = readFileSync(new URL('../../docs/settings.md', import.meta.url), 'utf8');

/** Each name in the first cell of a table row that holds nothing but names in backticks, with the other cells. */
const rows = text.split('\n').flatMap(line => {
  const [, first = '', ...cells] = line.split('|').map(cell => cell.trim());
  const names = first.split(', ').map(each => /^`(\w+(?:<NAME>)?)`$/.exec(each)?.[1]);
  return names.every(name => name !== undefined) ? names.map(name => ({ name, cells })) : [];
});

const read = (directory: string, needsSource = false) =>
  readConfig({ environment: {}, directory, needsSource, resources: ['invoices'] });

function inFolder<T>(sources: unknown, work: (directory: string) => T): T {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-settings-'));
  try {
    if (sources !== undefined) writeFileSync(join(directory, 'sources.json'), JSON.stringify(sources));
    return work(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test('docs/settings.md lists every setting with its default, and none that does not exist', () => {
  const { shown } = inFolder(undefined, directory => read(directory));
  const settings = rows.filter(({ name }) => /^[A-Z]/.test(name));
  const perResource = [
    'SCHEDULE_<NAME>',
    'WEIGHT_<NAME>',
    'FRESHNESS_TARGET_MINUTES_<NAME>',
    'HISTORY_<NAME>',
    'REWRITE_LIMIT_<NAME>',
  ];
  expect(settings.map(({ name }) => name).sort()).toEqual([...shown.map(({ name }) => name), ...perResource].sort());
  for (const { name, value } of shown) {
    const documented = settings.find(each => each.name === name)?.cells[0];
    expect(documented, name).toBe(value === 'not set' ? '' : `\`${value}\``);
  }
});

test('docs/settings.md lists every field of sources.json, and none that does not exist', () => {
  const documented = rows.map(({ name }) => name).filter(name => /^[a-z]/.test(name));
  const source = { name: 'vienna', url: 'https://vienna.example.com', api_key_from: 'VIENNA_KEY' };
  const message = inFolder([{ ...source, nonsense: 1 }], directory => {
    try {
      return String(read(directory).sources);
    } catch (error) {
      return (error as Error).message;
    }
  });
  // The message that refuses an unknown field names the known ones.
  const known = /\w+(?:, \w+){5,}/.exec(message)?.[0].split(', ') ?? [];
  expect(documented.sort()).toEqual(known.sort());
});

test('the .env that docs/settings.md shows is accepted', () => {
  const example = /```ini\n(# \.env[\s\S]*?)```/.exec(text)?.[1] ?? '';
  inFolder(undefined, directory => {
    writeFileSync(join(directory, '.env'), example);
    const { sources, databaseUrl } = readConfig({
      environment: {},
      directory,
      needsSource: true,
      resources: ['invoices', 'tickets'],
    });
    expect(databaseUrl).toMatch(/^postgres:/);
    expect(sources).toMatchObject([
      { schedules: { invoices: '*/5 * * * *', tickets: 'off' }, weights: { invoices: 3 } },
    ]);
  });
});
