import { afterEach, expect, test, vi } from 'vitest';
import { plainHostOf } from '../../../src/warehouse/database/pool.ts';

afterEach(() => vi.unstubAllEnvs());

test.each([
  ['postgres://u:pw@db.example/x', 'db.example'],
  ['postgres://u:pw@db.example/x?sslmode=disable', 'db.example'],
  ['postgres://u:pw@db.example/x?sslmode=allow', 'db.example'],
  ['postgres://u:pw@db.example/x?sslmode=prefer', 'db.example'],
  ['postgres://u:pw@db.example/x?ssl=0', 'db.example'],
  ['postgres://u:pw@10.0.0.7:5432/x', '10.0.0.7'],
  ['postgres://u:pw@[2001:db8::1]/x', '2001:db8::1'],
  // A name that only a container network knows, or that begins like this machine's own.
  ['postgres://u:pw@postgres:5432/x', 'postgres'],
  ['postgres://u:pw@127.0.0.1.example/x', '127.0.0.1.example'],
  ['postgres://u:pw@localhost/x?host=db.example', 'db.example'],
])('%s leads to another machine without requiring TLS', (url, host) => {
  expect(plainHostOf(url)).toBe(host);
});

test.each([
  'postgres://u:pw@db.example/x?sslmode=require',
  'postgres://u:pw@db.example/x?sslmode=verify-ca',
  'postgres://u:pw@db.example/x?sslmode=verify-full',
  'postgres://u:pw@db.example/x?sslmode=no-verify',
  'postgres://u:pw@db.example/x?ssl=true',
  'postgres://u:pw@db.example/x?sslnegotiation=direct',
  'postgres://u:pw@127.0.0.1/x',
  'postgres://u:pw@localhost:5433/x?sslmode=disable',
  'postgres://u:pw@[::1]/x',
  'postgres://u:pw@%2Fvar%2Frun%2Fpostgresql/x',
  'postgres:///x?host=/var/run/postgresql',
])('%s requires TLS or stays on this machine', url => {
  expect(plainHostOf(url)).toBe(null);
});

test('what the URL leaves open is taken from the variables that the driver reads', () => {
  vi.stubEnv('PGHOST', 'db.example');
  expect(plainHostOf('postgres:///x')).toBe('db.example');
  vi.stubEnv('PGSSLMODE', 'verify-full');
  expect([plainHostOf('postgres:///x'), plainHostOf('postgres:///x?sslmode=disable')]).toEqual([null, 'db.example']);
});
