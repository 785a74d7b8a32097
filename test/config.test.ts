import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readConfig } from '../src/config/read-config.ts';
import { SluiceError } from '../src/errors.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-config-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const read = (environment: Record<string, string>, needsSource = false, source?: string) =>
  readConfig({ environment, directory, needsSource, source, resources: ['customers', 'invoices', 'transactions'] });

function problems(environment: Record<string, string>, needsSource = false): string {
  try {
    read(environment, needsSource);
  } catch (error) {
    expect(error).toBeInstanceOf(SluiceError);
    expect((error as SluiceError).kind).toBe('configuration');
    return (error as SluiceError).message;
  }
  throw new Error('nothing was found wrong');
}

test('without any setting, the documented defaults', () => {
  expect(read({})).toMatchObject({
    sources: [{ name: 'main', schema: 'warehouse', timeZone: 'UTC', settings: null, schedules: {}, weights: {} }],
    databaseUrl: null,
    dataDir: '.sluice',
    host: '127.0.0.1',
    port: 8080,
    token: null,
    drainMs: 30_000,
    alertWebhookUrl: null,
    retention: { requests: 7, runs: 90, slots: 90, quarantine: 30 },
    logLevel: 'info',
  });
  expect(read({ SOURCE_URL: 'https://a.example', SOURCE_API_KEY: 'k' }).sources[0]?.settings).toEqual({
    url: 'https://a.example',
    apiKey: 'k',
    auth: 'bearer',
    pageSize: 'auto',
    limit: 1000,
    windowMs: 3_600_000,
    concurrency: 4,
    timeoutMs: 30_000,
    timeZone: 'UTC',
  });
});

test('all wrong settings are named at once with what is expected, and no secret is shown', () => {
  const wrong = {
    SOURCE_URL: 'https://user:secret-1@books.example.com/?api_key=secret-2',
    SOURCE_API_KEY: 'secret 3',
    SOURCE_AUTH: 'basic',
    SOURCE_TIMEZONE: 'Europe/Wien',
    SOURCE_PAGE_SIZE: '5000',
    SOURCE_RATE_LIMIT: '1e3',
    SOURCE_RATE_WINDOW_SECONDS: '-1',
    SOURCE_CONCURRENCY: '0',
    SOURCE_TIMEOUT_SECONDS: 'soon',
    DATABASE_URL: 'mysql://u:secret-4@db/x',
    WAREHOUSE_SCHEMA: 'sluice',
    SLUICE_HOST: 'not a host',
    SLUICE_PORT: '99999',
    SLUICE_TOKEN: 'secret5',
    ALERT_WEBHOOK_URL: 'http://hooks.example.com/secret-6',
    LOG_LEVEL: 'loud',
    SLUICE_DRAIN_SECONDS: '1h',
    FRESHNESS_LIMIT_MINUTES: '0',
    RETENTION_REQUESTS_DAYS: '1',
    SCHEDULE_TIMEZONE: '+02:00',
    SCHEDULE_INVOICES: 'hourly',
    SCHEDULE_INVOICE: 'off',
    WEIGHT_INVOICES: '0',
  };
  const message = problems(wrong);
  for (const name of Object.keys(wrong)) expect(message).toMatch(new RegExp(`^  ${name} .*; expected .+\\.$`, 'm'));
  expect(message).toContain('SOURCE_TIMEZONE is "Europe/Wien"; expected an IANA time zone');
  expect(message).toContain('SOURCE_AUTH is "basic"; expected one of bearer, query.');
  expect(message).toContain('DATABASE_URL begins with mysql://; expected postgres://');
  expect(message).not.toMatch(/secret/);
});

test('plain http only to this machine itself', () => {
  expect(problems({ SOURCE_URL: 'http://books.example.com' })).toContain('https');
  for (const url of ['http://127.0.0.1:4010', 'http://localhost', 'http://[::1]:80', 'https://books.example.com'])
    expect(read({ SOURCE_URL: url, SOURCE_API_KEY: 'k' }).sources[0]?.settings?.url).toBe(url);
});

test('alerts are not posted to an address with user and password, which fetch refuses each time', () => {
  for (const url of [
    'https://me:secret-9@hooks.example.com/x',
    'https://secret-9@hooks.example.com',
    'http://:secret-9@localhost',
  ]) {
    const message = problems({ ALERT_WEBHOOK_URL: url });
    expect(message).toMatch(/ALERT_WEBHOOK_URL .*; expected .*without user and password\.$/m);
    expect(message).not.toContain('secret-9');
  }
  const url = 'https://hooks.example.com/services/T0/B0?key=a@b';
  expect(read({ ALERT_WEBHOOK_URL: url }).alertWebhookUrl).toBe(url);
});

test('commands that read the source need its address and key; others do not', () => {
  expect(problems({}, true)).toMatch(/SOURCE_URL is not set.*\n.*SOURCE_API_KEY is not set/);
  expect(problems({ SOURCE_URL: 'https://a.example', SOURCE_API_KEY: ' ' }, true)).toMatch(
    /^A setting is wrong: SOURCE_API_KEY is not set/,
  );
});

test('.env fills in what the environment does not set', () => {
  writeFileSync(join(directory, '.env'), '# mine\nexport SOURCE_RATE_LIMIT=50\nSLUICE_PORT="9000"\nOTHER=\'a\nb\'\n');
  const config = read({ SLUICE_PORT: '7000' });
  expect(config.port).toBe(7000);
  expect(config.shown).toContainEqual({ name: 'SOURCE_RATE_LIMIT', value: '50', from: '.env' });
  expect(config.shown).toContainEqual({ name: 'SLUICE_PORT', value: '7000', from: 'environment' });
});

test('a malformed .env is named by its line, without what stands there', () => {
  writeFileSync(join(directory, '.env'), 'SLUICE_PORT=9000\nSOURCE_API_KEY secret-7\nSLUICE_TOKEN="secret-8\n');
  const message = problems({});
  expect(message).toContain('.env line 2 is not understood; expected NAME=value.');
  expect(message).toContain('.env line 3 has an opening quote without a closing one.');
  expect(message).not.toContain('secret');
});

test('what is shown and what is hidden', () => {
  const config = read({
    SOURCE_URL: 'https://books.example.com/',
    SOURCE_API_KEY: 'k-1',
    DATABASE_URL: 'postgresql://me:p%40ss@db.example/x?sslmode=require',
    SLUICE_TOKEN: 'token-123',
  });
  expect(config.secrets).toEqual(expect.arrayContaining(['k-1', 'p%40ss', 'p@ss', 'token-123']));
  const shown = JSON.stringify(config.shown);
  for (const secret of config.secrets) expect(shown).not.toContain(secret);
  expect(config.shown).toContainEqual({
    name: 'DATABASE_URL',
    value: 'postgresql://me:***@db.example/x',
    from: 'environment',
  });
  expect(Object.isFrozen(config)).toBe(true);
});

test('schedules and weights are by resource, and the zone of the schedules is their own', () => {
  const { sources } = read({
    SCHEDULE_INVOICES: '*/5 * * * *',
    SCHEDULE_CUSTOMERS: 'off',
    SCHEDULE_TIMEZONE: 'Europe/Vienna',
    WEIGHT_INVOICES: '3',
  });
  expect(sources).toMatchObject([
    {
      timeZone: 'UTC',
      schedules: { invoices: '*/5 * * * *', customers: 'off' },
      scheduleTimeZone: 'Europe/Vienna',
      weights: { invoices: 3 },
    },
  ]);
});

describe('a sources file', () => {
  const ENVIRONMENT = { VIENNA_KEY: 'key-v1', GRAZ_KEY: 'key-g2', SOURCE_TIMEOUT_SECONDS: '7' };
  const VIENNA = { name: 'vienna', url: 'https://vienna.example', api_key_from: 'VIENNA_KEY' };
  const GRAZ = { name: 'graz', url: 'https://graz.example', api_key_from: 'GRAZ_KEY' };
  const write = (content: unknown) =>
    writeFileSync(join(directory, 'sources.json'), typeof content === 'string' ? content : JSON.stringify(content));
  const wrong = (content: unknown, environment: Record<string, string> = ENVIRONMENT, needsSource = false) => {
    write(content);
    return problems(environment, needsSource);
  };

  test('names several sources; what one leaves out is as the environment has it', () => {
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

  test('may stand elsewhere, and has to be there then', () => {
    writeFileSync(join(directory, 'mine.json'), JSON.stringify([GRAZ]));
    expect(read({ ...ENVIRONMENT, SOURCES_FILE: 'mine.json' }).sources).toMatchObject([{ name: 'graz' }]);
    expect(problems({ ...ENVIRONMENT, SOURCES_FILE: 'gone.json' })).toContain('gone.json cannot be read (ENOENT)');
  });

  test('that is wrong is told with its place and what is expected, and never with a key', () => {
    expect(wrong('[{"api_key": "secret-1"')).toContain('sources.json is not JSON');
    expect(wrong({ sources: [] })).toContain('sources.json holds no list');
    const all = wrong([
      { ...VIENNA, api_key: 'secret-2', rate_limit: 'x', schedules: { invoice: 'off' } },
      { ...GRAZ, name: 'Graz!', api_key_from: 'secret-3', url: 'https://u:secret-4@graz.example' },
    ]);
    expect(all).toContain('sources.json, source 1 (vienna): "api_key" is no field; a key stands in an environment');
    expect(all).toContain('sources.json, source 1 (vienna): rate_limit is "x"; expected a whole number');
    expect(all).toContain('sources.json, source 1 (vienna): schedules.invoice names no resource; expected one of cust');
    expect(all).toContain('sources.json, source 2: name is not one');
    expect(all).toContain('sources.json, source 2: api_key_from is not one');
    expect(all).toContain('sources.json, source 2: url is "https://:***@graz.example"; expected an address');
    expect(all).not.toContain('secret');
  });

  test('two sources cannot have one name or one schema', () => {
    expect(wrong([VIENNA, { ...GRAZ, name: 'vienna', schema: 'other' }])).toContain(
      'two sources have the name "vienna"',
    );
    expect(wrong([VIENNA, { ...GRAZ, schema: 'vienna' }])).toContain('two sources have the schema "vienna"');
  });

  test('whose key is not set is refused where the source is needed', () => {
    expect(wrong([VIENNA], {}, true)).toContain(
      'sources.json, source 1 (vienna): the variable VIENNA_KEY, which api_key_from names, is not set',
    );
    expect(read({}).sources).toMatchObject([{ name: 'vienna', settings: null }]);
    // Of those that --source leaves out none is.
    write([VIENNA, GRAZ]);
    const { VIENNA_KEY: _key, ...others } = ENVIRONMENT;
    expect(read(others, true, 'graz').sources).toMatchObject([{ settings: null }, { settings: { apiKey: 'key-g2' } }]);
    for (const name of [undefined, 'vienna'])
      expect(() => read(others, true, name)).toThrow('the variable VIENNA_KEY, which api_key_from names, is not set');
  });
});
