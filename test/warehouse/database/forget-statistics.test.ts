import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { forgetStatistics } from '../../../src/warehouse/database/forget-statistics.ts';
import { withDatabase } from '../../support/database.ts';

const LIST = { name: 'invoices', children: [{ name: 'invoice_items' }] };

/** Every column of every table of the list and around it holds the text, as far as its type and rules allow it. */
const FILLED = `
  insert into warehouse.invoices (id, notes, _extra, _read_at, _synced_at) select n, 'planted', '{"a": "planted"}', now(), now() from generate_series(1, 9) n;
  insert into warehouse.invoice_items (invoice_id, line, description) select n, 1, 'planted' from generate_series(1, 9) n;
  insert into warehouse.row_history (resource, key, row, valid_from, valid_to, ended_by) select 'invoices', n::text, '{"a": "planted"}', now(), now(), 'changed' from generate_series(1, 9) n;
  insert into warehouse.change_log (number, resource, kind, seen_at, key) select n, 'invoices', 'deleted', now(), 'planted' from generate_series(1, 9) n;
  insert into sluice.held (source, resource, key, field, since) select 'main', 'invoices', 'planted' || n, 'planted', now() from generate_series(1, 9) n;
  insert into sluice.incidents (source, kind, message, opened_at, ended_at) select 'main', 'failed', 'planted', now(), now() from generate_series(1, 9) n;
  insert into sluice.missing (source, resource, key, slice, since) select 'main', 'invoices', 'planted' || n, 'planted', now() from generate_series(1, 9) n;
  insert into sluice.orders (source, resource, kind, state, reason, created_at) select 'main', 'invoices', 'verify', 'done', 'planted', now() from generate_series(1, 9) n;
  insert into sluice.push_items (push_id, source, resource, ordinal, line, hash, body) select 1, 'main', 'invoices', n, n, 'planted' || n, '{"a": "planted"}' from generate_series(1, 9) n;
  insert into sluice.quarantine (source, resource, key, payload, reasons, slice, first_seen, last_seen) select 'main', 'invoices', 'planted' || n, 'planted', '{}', 'whole', now(), now() from generate_series(1, 9) n;
  insert into sluice.rewrites (source, resource, field, run_ids, since, at, rows, stored, examples) select 'main', 'invoices', 'f' || n, '{}', now(), now(), 1, 1, '["planted"]' from generate_series(1, 9) n;
  insert into sluice.row_windows (source, resource, key, date_from, date_to, seen_at) select 'main', 'invoices', 'planted' || n, now(), now(), now() from generate_series(1, 9) n;
  insert into sluice.runs (source, resource, kind, reason, started_at) select 'main', 'invoices', 'sync', 'planted', now() from generate_series(1, 9) n;
  insert into sluice.traits (source, resource, trait, value, evidence, learned_at) select 'main', 'invoices', 'planted' || n, 'planted', 'planted', now() from generate_series(1, 9) n`;
const TABLES = [
  ...['invoices', 'invoice_items', 'row_history', 'change_log'].map(name => `warehouse.${name}`),
  ...[
    'held',
    'incidents',
    'missing',
    'orders',
    'push_items',
    'quarantine',
    'rewrites',
    'row_windows',
    'runs',
    'traits',
  ].map(name => `sluice.${name}`),
];

test('what was erased is no example of the planner, whether or not its table holds anything else', async () => {
  await withDatabase(async ({ query, transaction }) => {
    for (const left of [true, false]) {
      await query(FILLED);
      for (const name of TABLES) await query(`analyze ${name}`);
      const shown = await query(
        `select distinct schemaname || '.' || tablename as name from pg_stats s where s::text like '%planted%' order by 1`,
      );
      expect(shown.rows.map(({ name }) => name)).toEqual([...TABLES].sort());
      await transaction(async tx => {
        for (const name of TABLES) await sql`delete from ${sql.table(name)}`.execute(tx);
        if (left) {
          await sql`insert into warehouse.invoices (id, _read_at, _synced_at) values (1, now(), now())`.execute(tx);
          await sql`insert into sluice.quarantine (source, resource, key, payload, reasons, slice, first_seen, last_seen)
            values ('main', 'invoices', '1', '{}', '{}', 'whole', now(), now())`.execute(tx);
        }
        await forgetStatistics(tx, 'warehouse', LIST);
      });
      expect((await query(`select from pg_stats s where s::text like '%planted%'`)).rows).toEqual([]);
      const rows = await query('select id from warehouse.invoices union all select 1 from sluice.runs');
      expect(rows.rows).toHaveLength(left ? 1 : 0);
      await query('truncate warehouse.invoices; truncate sluice.quarantine');
    }
  });
});

test('a row that a rule of the owner forbids is no reason to fail', async () => {
  await withDatabase(async ({ query, transaction }) => {
    await query('alter table warehouse.invoices add check (id > 0)');
    await query(FILLED);
    await query('analyze warehouse.invoices; delete from warehouse.invoices');
    await transaction(tx => forgetStatistics(tx, 'warehouse', LIST));
    expect((await query('select from warehouse.invoices')).rows).toEqual([]);
  });
});
