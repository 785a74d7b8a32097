import { expect, test } from 'vitest';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { listsOf } from '../../src/service/incidents/row-troubles.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import { readSeenChanges } from '../../src/warehouse/rows/seen-changes.ts';
import { lookAt } from '../service/incidents/with-monitor.ts';
import { servedSource } from '../service/with-service.ts';
import { backUp } from '../support/back-up.ts';
import { differences } from '../support/compare.ts';
import { MAIN } from '../support/resources.ts';
import { useBuild, withInstallation } from './run-command.ts';

useBuild();

const OPTIONS = {
  size: { customers: 40, invoices: 60, transactions: 60 },
  variants: { 'new-ids': 'reissued' },
} as const;

/** What people did after the backup: they edited, deleted, and entered more than a day may lose. */
function workADay(sandbox: Sandbox): void {
  const ids = (list: 'customers' | 'invoices') => [...sandbox.rows(list)].map(({ id }) => id);
  for (const id of ids('invoices').slice(0, 6)) sandbox.update('invoices', id, { notes: `seen by ${id}` });
  for (const id of ids('customers').slice(0, 3)) sandbox.update('customers', id, { phone: `+43 1 ${id}` });
  for (const id of ids('customers').slice(-2)) sandbox.remove('customers', id);
  const [invoice] = [...sandbox.rows('invoices')];
  for (let entered = 0; entered < 25; entered++)
    sandbox.insert('invoices', { ...(invoice as NonNullable<typeof invoice>), invoice_number: `N-${entered}` });
}

const openIncidents = async (database: Database) =>
  (
    await database.query<{ kind: string; message: string; next: string }>(
      `select kind, message, next from sluice.incidents where ended_at is null and kind = 'restored'`,
    )
  ).rows;

test('a source that was restored from a backup is recognised, and read again without the rows that came since', async () => {
  await withInstallation(OPTIONS, async ({ sandbox, database, sluice, sync }) => {
    const look = lookAt(database);
    await sync(...MAIN);
    const early = await sluice('sync', '--restored');
    expect([early.code, early.stderr]).toEqual([
      2,
      expect.stringMatching(/The changes of the last week do not show that main was restored\.[\s\S]*--restored 26h/),
    ]);
    const restore = backUp(sandbox, MAIN);
    workADay(sandbox);
    await sync(...MAIN);
    await look();
    expect(await openIncidents(database)).toEqual([]);

    restore();
    // The ids of the rows that are gone are issued again.
    const [invoice] = [...sandbox.rows('invoices')];
    sandbox.insert('invoices', { ...(invoice as NonNullable<typeof invoice>), invoice_number: 'AGAIN' });
    const held = await sluice('sync', ...MAIN);
    expect([held.code, held.stderr]).toEqual([1, expect.stringContaining('The source no longer shows')]);
    await look();
    expect(await openIncidents(database)).toEqual([
      {
        kind: 'restored',
        message: expect.stringMatching(
          /^The source shows again what it showed before .*\. Of \d+ rows that changed since, \d+ are as before: \d+ of invoices and \d+ of customers\./,
        ),
        next: expect.stringContaining('sluice sync --restored'),
      },
    ]);

    const dry = await sluice('sync', '--restored', '--dry-run');
    expect([dry.code, dry.stderr]).toEqual([0, expect.stringMatching(/may go: \d+ of invoices/)]);
    const read = await sluice('sync', ...MAIN, '--restored');
    expect([read.code, read.stderr]).toEqual([0, expect.stringMatching(/may go: \d+ of invoices/)]);
    expect(await differences(database, sandbox)).toEqual([]);
    await look();
    expect(await openIncidents(database)).toEqual([]);
  });
});

test('rows that sluice undo puts back are no sign of a restore', async () => {
  await withInstallation(OPTIONS, async ({ sandbox, database, sluice, sync }) => {
    await sync(...MAIN);
    for (const { id } of [...sandbox.rows('invoices')].slice(0, 6)) sandbox.update('invoices', id, { notes: 'other' });
    for (const { id } of [...sandbox.rows('invoices')].slice(-4)) sandbox.remove('invoices', id);
    await sync('invoices');
    const { rows } = await database.query<{ id: string }>(
      `select distinct run_id::text as id from warehouse.change_log where run_id is not null order by 1`,
    );
    const undone = await sluice('undo', ...rows.map(({ id }) => id));
    expect([undone.code, undone.stdout]).toEqual([0, expect.stringContaining('6 replaced rows and 4 deleted rows')]);
    const changes = await readSeenChanges(database.kysely, listsOf(servedSource(database)));
    const seen = (wanted: string) => changes.filter(({ kind }) => kind === wanted).length;
    expect([seen('updated'), seen('deleted'), seen('revived')]).toEqual([12, 4, 4]);
    expect(changes.filter(({ takesBack }) => takesBack !== null)).toEqual([]);
    await sync('invoices');
    await lookAt(database)();
    expect(await openIncidents(database)).toEqual([]);
  });
});

test('where nothing shows a restore, its age does; what it does not explain stays', async () => {
  await withInstallation(OPTIONS, async ({ sandbox, database, sluice, sync }) => {
    await sync(...MAIN);
    const [invoice] = [...sandbox.rows('invoices')];
    for (let entered = 0; entered < 25; entered++)
      sandbox.insert('invoices', { ...(invoice as NonNullable<typeof invoice>), invoice_number: `N-${entered}` });
    await sync(...MAIN);
    const stored = [...sandbox.rows('invoices')].map(({ id }) => id);
    // Older ones than the restored state knows are gone, too.
    for (const id of [...stored.slice(0, 10), ...stored.slice(-25)]) sandbox.remove('invoices', id);
    const refused = await sluice('sync', 'invoices', '--restored', '1h');
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('The source no longer shows')]);
    const unknown = await sluice('sync', 'invoices', '--restored', 'yesterday');
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('--restored yesterday is not valid')]);
    const { rows } = await database.query<{ count: number }>('select count(*)::int as count from warehouse.invoices');
    expect(rows[0]?.count).toBe(stored.length);
  });
});
