import { expect, test } from 'vitest';
import { useFolder } from './use-folder.ts';

const { read, problems } = useFolder();

test('without any setting, the documented defaults apply', () => {
  expect(read({})).toMatchObject({
    sources: [
      {
        name: 'main',
        schema: 'warehouse',
        timeZone: 'UTC',
        settings: null,
        schedules: {},
        weights: {},
        targetMinutes: {},
        mostSweeps: 5,
      },
    ],
    databaseUrl: null,
    dataDir: '.sluice',
    host: '127.0.0.1',
    port: 8080,
    token: null,
    hashKey: null,
    drainMs: 30_000,
    alertWebhookUrl: null,
    alertAllowsPrivate: false,
    retention: { requests: 7, runs: 90, slots: 90, quarantine: 30, history: null, pushes: null },
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
    lagMs: 60_000,
    timeZone: 'UTC',
  });
});

test('a reserve is taken from the limit, and must leave some of it', () => {
  const [source] = read({ SOURCE_RESERVE: '8-18:300,10%', SOURCE_TIMEZONE: 'Europe/Vienna' }).sources;
  expect(source).toMatchObject({ rateLimit: 1000, limit: 900 });
  expect([
    source?.reservedAt(Date.parse('2026-01-15T02:00:00Z')),
    source?.reservedAt(Date.parse('2026-01-15T11:00:00Z')),
  ]).toEqual([100, 300]);
  expect(() => read({ SOURCE_RESERVE: '8-18:300', SOURCE_RATE_LIMIT: '300' })).toThrow(
    'SOURCE_RESERVE of source "main" leaves 300 requests per window to other programs, and the limit is 300: Sluice could send none; expected less.',
  );
  expect(() => read({ SOURCE_RESERVE: '100%' })).toThrow(
    'SOURCE_RESERVE is "100%"; expected requests an hour such as 300, a percentage such as 30%, or both by hours of the day: 8-18:300,10%.',
  );
});

test('all wrong settings are reported at once with the expected form, and no secret is shown', () => {
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
    SLUICE_TOKEN: 'secret-5-of-15c',
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
  expect(message).toMatch(/SLUICE_TOKEN .*; expected at least 16 characters .*openssl rand -hex 24/);
  expect(message).toContain('DATABASE_URL begins with mysql://; expected postgres://');
  expect(message).not.toMatch(/secret/);
});

test.each(['not a url', 'mysql://u:secret-word@h/d', 'postgres://u:secret-word@h:port/d'])(
  'a malformed database URL is a wrong setting, and is not repeated (%#)',
  url => {
    for (const name of ['DATABASE_URL', 'READER_DATABASE_URL']) {
      const message = problems({ [name]: url });
      expect(message).toMatch(new RegExp(`${name} .*; expected postgres://user:password@host:5432/database`));
      expect(message).not.toContain('secret-word');
    }
  },
);

test('a command that contacts the source needs its URL and key', () => {
  expect(problems({}, true)).toMatch(/SOURCE_URL is not set.*\n.*SOURCE_API_KEY is not set/);
  expect(problems({ SOURCE_URL: 'https://a.example', SOURCE_API_KEY: ' ' }, true)).toMatch(
    /^A setting is wrong: SOURCE_API_KEY is not set/,
  );
});
