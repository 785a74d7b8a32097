import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useFolder } from './use-folder.ts';

const { folder, read, problems } = useFolder();

test('a misspelt setting is refused with the nearest name, in the environment and in .env', () => {
  expect(problems({ SOURCE_RATE_LIMT: '500' })).toBe(
    'A setting is wrong: SOURCE_RATE_LIMT is not a setting; did you mean SOURCE_RATE_LIMIT?',
  );
  writeFileSync(join(folder.path, '.env'), 'RETENTION_RUN_DAYS=7\nSCHEDULE_TIMEZON=UTC\nschedule_x=1\n');
  const all = problems({ SLUICE_FOO: 'x', WAREHOUSE_SHCEMA: 'x', SLUICE_RATE_LIMIT: '5', SCHEDULE_invoices: 'off' });
  expect(all).toContain('RETENTION_RUN_DAYS is not a setting; did you mean RETENTION_RUNS_DAYS?');
  expect(all).toContain('WAREHOUSE_SHCEMA is not a setting; did you mean WAREHOUSE_SCHEMA?');
  expect(all).toContain('SLUICE_RATE_LIMIT is not a setting; did you mean SOURCE_RATE_LIMIT?');
  expect(all).toContain(
    'SLUICE_FOO is not a setting; expected one of SLUICE_DATA_DIR, SLUICE_HOST, SLUICE_PORT, SLUICE_TOKEN, SLUICE_HASH_KEY, SLUICE_DRAIN_SECONDS',
  );
  expect(all).toContain('SCHEDULE_invoices is not a setting;');
  // A resource that does not exist, as before.
  expect(all).toContain('SCHEDULE_TIMEZON names an unknown resource');
});

test('variables of other programs are left alone', () => {
  writeFileSync(join(folder.path, '.env'), 'POSTGRES_PASSWORD=x\nDATABASE_POOL_SIZE=5\nLOG_FORMAT=json\nSLUICE_OLD=\n');
  const others = {
    SOURCE_DATE_EPOCH: '1700000000',
    SOURCE_COMMIT: 'abc',
    SLUICE_SERVICE_HOST: '10.0.0.7',
    SLUICE_SERVICE_PORT_HTTP: '8080',
    SLUICE_PORT_8080_TCP: 'tcp://10.0.0.7:8080',
    SLUICE_PORT_8080_TCP_ADDR: '10.0.0.7',
    WAREHOUSE_PORT: 'tcp://10.0.0.8:5432',
    PATH: '/bin',
  };
  expect(read(others).sources).toHaveLength(1);
});

test('a port that Kubernetes sets for a service named sluice is refused with what to do about it', () => {
  expect(problems({ SLUICE_PORT: 'tcp://10.0.0.1:8080' })).toBe(
    'A setting is wrong: SLUICE_PORT is "tcp://10.0.0.1:8080"; expected a whole number from 0 to 65535. Kubernetes sets it in every ' +
      'pod beside a service named "sluice": name that service otherwise, or set enableServiceLinks: false in the spec of the pod.',
  );
  expect(problems({ SLUICE_PORT: 'eighty' })).not.toContain('Kubernetes');
});

test('the variables that hold the keys of sources are no misspelt settings', () => {
  const entry = { name: 'vienna', url: 'https://vienna.example', api_key_from: 'SOURCE_VIENNA' };
  writeFileSync(join(folder.path, 'sources.json'), JSON.stringify([entry]));
  expect(read({ SOURCE_VIENNA: 'k1', SOURCE_KEY_OF_GRAZ: 'k2' }, true).sources).toMatchObject([
    { settings: { apiKey: 'k1' } },
  ]);
  expect(problems({ SOURCE_VIENNA: 'k1', SOURCE_API_KEYS: 'k2' })).toContain('did you mean SOURCE_API_KEY?');
  expect(problems({ SOURCE_VIENNA: 'k1', SOURCE_GRAZ: 'k2' })).toContain('SOURCE_GRAZ is not a setting');
});
