import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { sourcesFileSchema } from '../../src/config/sources-schema.ts';
import { useFolder } from './use-folder.ts';

const { folder, read, problems } = useFolder();

describe('the sources file', () => {
  const ENVIRONMENT = { VIENNA_KEY: 'key-v1', GRAZ_KEY: 'key-g2', SOURCE_TIMEOUT_SECONDS: '7' };
  const VIENNA = { name: 'vienna', url: 'https://vienna.example', api_key_from: 'VIENNA_KEY' };
  const GRAZ = { name: 'graz', url: 'https://graz.example', api_key_from: 'GRAZ_KEY' };
  const write = (content: unknown) =>
    writeFileSync(join(folder.path, 'sources.json'), typeof content === 'string' ? content : JSON.stringify(content));
  const wrong = (content: unknown, environment: Record<string, string> = ENVIRONMENT, needsSource = false) => {
    write(content);
    return problems(environment, needsSource);
  };

  test('describes several sources, which inherit from the environment what they leave out', () => {
    write([
      {
        ...VIENNA,
        schema: 'books',
        rate_limit: 500,
        page_size: 'auto',
        timezone: 'Europe/Vienna',
        schedules: { invoices: 'off' },
        weights: { customers: 2 },
      },
      GRAZ,
    ]);
    const config = read({ ...ENVIRONMENT, SOURCE_URL: 'https://other.example', SCHEDULE_CUSTOMERS: '0 * * * *' }, true);
    expect(config.sources).toMatchObject([
      {
        name: 'vienna',
        schema: 'books',
        timeZone: 'Europe/Vienna',
        settings: { url: 'https://vienna.example', apiKey: 'key-v1', limit: 500, timeoutMs: 7000 },
        schedules: { customers: '0 * * * *', invoices: 'off' },
        weights: { customers: 2 },
      },
      {
        name: 'graz',
        schema: 'graz',
        settings: { apiKey: 'key-g2', limit: 1000 },
        schedules: { customers: '0 * * * *' },
      },
    ]);
    expect(config.secrets).toEqual(expect.arrayContaining(['key-v1', 'key-g2']));
    expect(JSON.stringify(config.shown)).not.toMatch(/key-[vg]/);
  });

  test('is a list, or an object that has the list beside $schema, by which editors complete it', () => {
    const schema = z.fromJSONSchema(sourcesFileSchema() as Parameters<typeof z.fromJSONSchema>[0]);
    const fits = (content: unknown) => schema.safeParse(content).success;
    const full = {
      ...VIENNA,
      rate_limit: 500,
      reserve: '30%',
      auth: 'query',
      never: ['iban'],
      most_sweeps: '7',
      schedules: { invoices: 'off' },
      weights: { invoices: 3 },
      history: { invoices: 'on' },
    };
    for (const content of [[full, GRAZ], { $schema: './sources.schema.json', sources: [full, GRAZ] }]) {
      write(content);
      expect(read(ENVIRONMENT, true).sources).toMatchObject([{ name: 'vienna', never: ['iban'] }, { name: 'graz' }]);
      expect(fits(content)).toBe(true);
    }
    for (const wrongField of [{ auth: 'basic' }, { limit: 5 }, { weights: 3 }, { history: { invoices: 'yes' } }])
      expect(fits([{ ...VIENNA, ...wrongField }]), JSON.stringify(wrongField)).toBe(false);
    expect(fits([{ name: 'vienna' }])).toBe(false);
    expect(JSON.stringify(sourcesFileSchema())).toContain('Expected: a whole number from 1 to 1000000.');
    expect(JSON.stringify(sourcesFileSchema())).not.toContain('undefined');
  });

  test('names the fields that are not stored, in place of those of the environment', () => {
    const neverOf = (given: unknown) => {
      write([{ ...VIENNA, never: given }, GRAZ]);
      return read({ ...ENVIRONMENT, SOURCE_NEVER: 'iban, Date-Of-Birth' }).sources.map(({ never }) => never);
    };
    expect(neverOf(['ssn', 'tax id'])).toEqual([
      ['ssn', 'tax id'],
      ['iban', 'Date-Of-Birth'],
    ]);
    expect(neverOf('ssn')[0]).toEqual(['ssn']);
    expect(neverOf([])[0]).toEqual([]);
    for (const never of [[1], {}, ['a', ''], '-'])
      expect(wrong([{ ...VIENNA, never }])).toContain('source 1 (vienna): never is "');
    expect(problems({ SOURCE_NEVER: 'a,,b' })).toContain('SOURCE_NEVER is "a,,b"; expected field names with commas');
  });

  test('sets targets and the bound on unread parts for each source', () => {
    write([{ ...VIENNA, target_minutes: { invoices: 5 }, most_sweeps: 3 }, GRAZ]);
    const environment = { ...ENVIRONMENT, FRESHNESS_TARGET_MINUTES_CUSTOMERS: '60', FRESHNESS_MOST_SWEEPS: '8' };
    expect(read(environment).sources).toMatchObject([
      { targetMinutes: { invoices: 5, customers: 60 }, mostSweeps: 3 },
      { targetMinutes: { customers: 60 }, mostSweeps: 8 },
    ]);
    const all = wrong([
      { ...VIENNA, target_minutes: { invoices: 0.5 }, most_sweeps: 1 },
      { ...GRAZ, target_minutes: 5 },
    ]);
    expect(all).toContain('source 1 (vienna): target_minutes.invoices is "0.5"; expected a whole number from 1');
    expect(all).toContain('source 1 (vienna): most_sweeps is "1"; expected a whole number from 2 to 1000');
    expect(all).toContain('source 2 (graz): target_minutes is not an object; expected one such as {"customers": 5}.');
  });

  test('may have another name, and must exist then', () => {
    writeFileSync(join(folder.path, 'mine.json'), JSON.stringify([GRAZ]));
    expect(read({ ...ENVIRONMENT, SOURCES_FILE: 'mine.json' }).sources).toMatchObject([{ name: 'graz' }]);
    expect(problems({ ...ENVIRONMENT, SOURCES_FILE: 'missing.json' })).toContain(
      'missing.json cannot be read (ENOENT)',
    );
  });

  test('is reported with the place and the expected form when wrong, and never with a key', () => {
    expect(wrong('[{"api_key": "secret-1"')).toContain('sources.json is not valid JSON');
    expect(wrong({ sources: [] })).toContain('sources.json does not contain a list');
    expect(wrong({ sources: [VIENNA], source: [GRAZ] })).toContain('sources.json does not contain a list');
    expect(wrong({ $schema: 'x' })).toContain('or an object with "$schema" and "sources"');
    const all = wrong([
      { ...VIENNA, api_key: 'secret-2', rate_limit: 'x', schedules: { invoice: 'off' } },
      { ...GRAZ, name: 'Graz!', api_key_from: 'secret-3', url: 'https://u:secret-4@graz.example' },
    ]);
    expect(all).toContain('sources.json, source 1 (vienna): unknown field "api_key"; put the key into an environment');
    expect(all).toContain('sources.json, source 1 (vienna): rate_limit is "x"; expected a whole number');
    expect(all).toContain(
      'sources.json, source 1 (vienna): schedules.invoice names an unknown resource; expected one of cust',
    );
    expect(all).toContain('sources.json, source 2: name is "Graz!"; expected a letter');
    expect(all).toContain('sources.json, source 2: api_key_from is not a variable name');
    expect(all).toContain('sources.json, source 2: url is "https://:***@graz.example"; expected a URL');
    expect(all).not.toContain('secret');
  });

  test('refuses two sources with the same name or schema', () => {
    expect(wrong([VIENNA, { ...GRAZ, name: 'vienna', schema: 'other' }])).toContain(
      'two sources have the name "vienna"',
    );
    expect(wrong([VIENNA, { ...GRAZ, schema: 'vienna' }])).toContain('two sources have the schema "vienna"');
  });

  test('is refused while the key of a source that is needed is not set', () => {
    expect(wrong([VIENNA], {}, true)).toContain(
      'sources.json, source 1 (vienna): VIENNA_KEY, named by api_key_from, is not set',
    );
    expect(read({}).sources).toMatchObject([{ name: 'vienna', settings: null }]);
    // The keys of sources that --source leaves out are not needed.
    write([VIENNA, GRAZ]);
    const { VIENNA_KEY: _key, ...others } = ENVIRONMENT;
    expect(read(others, true, 'graz').sources).toMatchObject([{ settings: null }, { settings: { apiKey: 'key-g2' } }]);
    for (const name of [undefined, 'vienna'])
      expect(() => read(others, true, name)).toThrow('VIENNA_KEY, named by api_key_from, is not set');
  });
});
