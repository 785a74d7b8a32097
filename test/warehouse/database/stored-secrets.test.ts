import { expect, test } from 'vitest';
import { migrate } from '../../../src/warehouse/database/migrate.ts';
import { HARMLESS, SECRETS } from '../../engine/records/names.ts';
import { MIGRATIONS, withDatabase } from '../../support/database.ts';
import { findText } from '../../support/find-text.ts';

test('passwords and keys that an earlier version stored leave every table, and nothing else does', async () => {
  await withDatabase(async database => {
    await database.query(`delete from sluice.migrations_warehouse where name >= '0010_stored_secrets'`);
    const ascii = SECRETS.filter(name => /^[\x21-\x7e]+$/.test(name));
    const secrets = Object.fromEntries(ascii.map(name => [name, { deep: 'planted' }]));
    const harmless = Object.fromEntries(HARMLESS.map(name => [name, 1.5]));
    const extra = JSON.stringify({ ...harmless, ...secrets, list: [{ cvv: 'planted' }, 2] });
    await database.query(
      `insert into warehouse.customers (id, account, _extra, _synced_at, _read_at)
       values (1, 'A', $1, now(), now()), (2, 'B', '{"password":"planted"}', now(), now()), (3, 'C', null, now(), now())`,
      [extra],
    );
    await database.query(
      `insert into warehouse.orders (_key, record, _synced_at, _read_at) values ('1', $1, now(), now())`,
      [extra],
    );
    await database.query(`insert into warehouse.invoice_items (invoice_id, line, _extra) values (1, 1, $1)`, [extra]);
    await database.query(
      `insert into warehouse.row_history (resource, key, row, valid_from, valid_to, ended_by)
       values ('parcels', '1', $1, now(), now(), 'deleted')`,
      [JSON.stringify({ id: 1, token: 'a column', _extra: JSON.parse(extra), parts: [{ pin: 1, _extra: secrets }] })],
    );
    expect(await migrate({ database, ...MIGRATIONS })).toContain('warehouse/0010_stored_secrets');
    expect(await findText(database, 'planted')).toEqual([]);
    const { rows } = await database.query<{ extra: unknown }>(
      'select _extra as extra from warehouse.customers order by id',
    );
    expect(rows).toEqual([{ extra: { ...harmless, list: [{}, 2] } }, { extra: null }, { extra: null }]);
    const { rows: ended } = await database.query<{ row: object }>('select row from warehouse.row_history');
    expect(ended[0]?.row).toMatchObject({ token: 'a column', parts: [{ pin: 1, _extra: {} }] });
  });
});

test('records with passwords or keys that an earlier version put into quarantine leave it; those with a key stay without content', async () => {
  await withDatabase(async database => {
    await database.query(`drop table sluice.erasures, sluice.seen_keys;
      create table sluice.whole_keys (source text, resource text, key text);
      delete from sluice.migrations where name >= '0013'`);
    await database.query(`
      insert into sluice.quarantine (source, resource, key, payload, reasons, slice, first_seen, last_seen, resolved_at) values
        ('main', 'r', '17', '{"profile": {"Password_Hash" : "planted"}}', '{}', 'whole', now(), now(), null),
        ('main', 'r', '18', '{"apiKey":"planted"}', '{}', 'whole', now(), now(), now()),
        ('main', 'r', '?1', '[{"remember_token":"planted"}]', '{}', 'whole', now(), now(), null),
        ('main', 'r', '?2', '[{"name":"password"}]', '{}', 'whole', now(), now(), null)`);
    await migrate({ database, ...MIGRATIONS });
    expect(await findText(database, 'planted')).toEqual([]);
    const { rows } = await database.query('select key, payload from sluice.quarantine order by key collate "C"');
    expect(rows).toEqual([
      { key: '17', payload: '{}' },
      { key: '?2', payload: '[{"name":"password"}]' },
    ]);
  });
});
