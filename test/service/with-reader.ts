import { randomBytes } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { loginAttributes, readingSettings } from '../../src/reading-login.ts';
import { type Database, openDatabase } from '../../src/warehouse/database/database.ts';
import { grantReading } from '../../src/warehouse/database/grant-reading.ts';
import type { TestDatabase } from '../support/database.ts';
import { asAdmin } from '../support/postgres.ts';
import { silent } from './with-service.ts';

/** Brackets a pool of a login that may only read the warehouse of this test. */
export async function withReader(
  database: Database,
  { url, adminUrl }: TestDatabase,
  fn: (reader: Database, address: string) => Promise<void>,
): Promise<void> {
  const login = `reader_${randomBytes(4).toString('hex')}`;
  await asAdmin(adminUrl, `create role ${login} ${loginAttributes('reader-password')}`);
  await asAdmin(adminUrl, readingSettings(login));
  onTestFinished(() => asAdmin(Object.assign(new URL(adminUrl), { pathname: '/postgres' }).href, `drop role ${login}`));
  await grantReading(database, { login, newPassword: false });
  const address = Object.assign(new URL(url), { username: login, password: 'reader-password' }).href;
  const reader = await openDatabase({ url: address, applicationName: 'test reader', log: silent });
  try {
    await fn(reader, address);
  } finally {
    await reader.close();
  }
}
