import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { SluiceError } from '../src/errors.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-config-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const read = (environment: Record<string, string>, needsSource = false) =>
  readConfig({ environment, directory, needsSource });

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
    source: null,
    sourceName: 'main',
    timeZone: 'UTC',
    databaseUrl: null,
    dataDir: '.sluice',
    schema: 'warehouse',
    host: '127.0.0.1',
    port: 8080,
    token: null,
    alertWebhookUrl: null,
    logLevel: 'info',
  });
  expect(read({ SOURCE_URL: 'https://a.example', SOURCE_API_KEY: 'k' }).source).toEqual({
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
  };
  const message = problems(wrong);
  for (const name of Object.keys(wrong)) expect(message).toMatch(new RegExp(`^  ${name} .*; expected .+\\.$`, 'm'));
  expect(message).toContain('SOURCE_TIMEZONE is "Europe/Wien"; expected an IANA time zone');
  expect(message).toContain('SOURCE_AUTH is "basic"; expected one of bearer, query.');
  expect(message).not.toMatch(/secret/);
});

test('plain http only to this machine itself', () => {
  expect(problems({ SOURCE_URL: 'http://books.example.com' })).toContain('https');
  for (const url of ['http://127.0.0.1:4010', 'http://localhost', 'http://[::1]:80', 'https://books.example.com'])
    expect(read({ SOURCE_URL: url, SOURCE_API_KEY: 'k' }).source?.url).toBe(url);
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
