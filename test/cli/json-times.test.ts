import { expect, test } from 'vitest';
import { isoText } from '../../src/service/format.ts';
import { long } from '../support/long.ts';
import { MAIN } from '../support/resources.ts';
import { run, useBuild, withInstallation } from './run-command.ts';

useBuild();

test('a moment as Postgres writes it becomes ISO 8601 with all its digits, and other text stays', () => {
  expect(isoText('2026-01-15 10:00:00.123456+00')).toBe('2026-01-15T10:00:00.123456Z');
  expect(isoText('2026-01-15 10:00:00+05:30')).toBe('2026-01-15T10:00:00+05:30');
  for (const text of ['2026-01-15', 'infinity', '2026-01-15 10:00:00', 'at 2026-01-15 10:00:00+00'])
    expect(isoText(text)).toBe(text);
});

test('documents show what the source sent as it is, under whatever name', async () => {
  await withInstallation({}, async ({ sandbox, database, sluice, sync }) => {
    const sent = { dueAt: 1736935200, expiresAt: 1e17, asOf: 1, told: '2026-01-15 10:00:00+00' };
    const [invoice] = sandbox.rows('invoices');
    sandbox.update('invoices', invoice?.id as number, { ...sent, inner: sent } as object);
    await sync('invoices');
    const told = (await sluice('why', 'invoices', String(invoice?.id), '--json')).json();
    expect(told.provenAt).toMatch(/Z$/);
    const { rows } = await database.query<{ extra: unknown }>(
      `select _extra as extra from warehouse.invoices where id = ${invoice?.id}`,
    );
    expect(told.current.row._extra).toEqual(rows[0]?.extra);
    expect(told.current.row._extra).toMatchObject({ ...sent, inner: sent });
    const listed = (await sluice('fields', 'invoices', '--json')).json();
    expect(JSON.stringify(listed.fields)).toContain(sent.told);
  });
});

long('the documents of all commands show moments in ISO 8601 only', async () => {
  await withInstallation({}, async ({ sandbox, env, sluice }) => {
    const [invoice] = sandbox.rows('invoices');
    sandbox.update('invoices', invoice?.id as number, { amount: 'a lot' });
    const document = async (...args: string[]) => (await sluice(...args, '--json')).json();
    const documents = [await document('sync', ...MAIN)];
    documents.push(await document('backfill', 'invoices', '--detach'));
    await sluice('webhooks', 'register', '--url', 'https://sluice.example.com');
    // A failure, and a limit that is used up.
    await run(['sync', 'customers'], { env: { ...env, SOURCE_API_KEY: 'wrong' } });
    const limited = await run(['status', '--json'], { env: { ...env, SOURCE_RATE_LIMIT: '1' } });
    documents.push(limited.json());
    for (const args of [
      ['backfill', 'list'],
      ['backfill', 'invoices', '--dry-run'],
      ['webhooks', 'list'],
      ['quarantine'],
      ['doctor'],
      ['verify', 'customers'],
    ])
      documents.push(await document(...args));
    const moments = documents.flatMap(each => momentsIn(each, ''));
    const names = new Set(moments.map(({ name }) => name));
    for (const name of [
      'newestChange',
      'oldestProof',
      'createdAt',
      'endedAt',
      'nextFreeAt',
      'finishesAt',
      'provenAt',
      'registeredAt',
      'lastSeen',
    ])
      expect(names).toContain(name);
    for (const { name, value } of moments) expect(value, name).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  });
});

/** Every value that can only be a moment: by its name, or because it looks like one. */
function momentsIn(value: unknown, name: string): { name: string; value: unknown }[] {
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([inner, each]) => momentsIn(each, Array.isArray(value) ? name : inner));
  const isNamed = /(At|Until|Seen|Change|Proof)$/.test(name) && value !== null;
  const looks =
    (typeof value === 'string' && /^\d{4}-\d\d-\d\d[T ]\d\d:/.test(value)) ||
    (typeof value === 'number' && value > 1e11);
  return isNamed || looks ? [{ name, value }] : [];
}
