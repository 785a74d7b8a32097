// Measures how long `sluice undo` takes for a run that rewrote every row of a list, compared with one `update` of the same rows.
//   npm run build && npx tsx bench/undo.ts [--rows 1000000] [--lines 1] [--json]
// `--lines` is how many lines each invoice has. Nothing is requested: the address of the source does not exist.
import { parseArgs } from 'node:util';
import { openPostgres, type Postgres } from './support/open-postgres.ts';
import { figure, print, progress } from './support/print.ts';
import { environmentOf, runSluice } from './support/run-sluice.ts';

const { values: given } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    lines: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const [rows, lines] = [Number(given.rows), Number(given.lines)];
/** The first run. */
const RUN = '1';
/** When that run was committed. */
const AT = `timestamptz '${new Date(Date.now() - 3_600_000).toISOString()}'`;

/** Invoices as a sync stores them, and as a second one finds them: all amounts in cents. */
async function fill({ database }: Postgres): Promise<void> {
  await database.query(`insert into warehouse.invoices (id, invoice_number, customer_id, date, due_date, amount, status, notes, _hash, _synced_at, _read_at)
    select i, 'R-' || i, i % 5000, date '2020-01-01' + i % 2000, date '2020-01-31' + i % 2000, i % 100000 / 100.0, 'Paid', 'Paid by transfer',
      decode(md5(i::text), 'hex'), now() - interval '2 days', now() - interval '2 days' from generate_series(1, ${rows}) i`);
  await database.query(`insert into warehouse.invoice_items (invoice_id, line, description, amount, qty)
    select i, l, 'Hosting, monthly', i % 1000, 1 from generate_series(1, ${rows}) i, generate_series(1, ${lines}) l`);
  await database.query(`insert into sluice.runs (source, resource, kind, state, started_at, ended_at)
    values ('main', 'invoices', 'sync', 'done', ${AT}, ${AT})`);
  await database.query(`insert into sluice.cursors (source, resource) values ('main', 'invoices')`);
  await database.query(`insert into sluice.coverage (source, resource, slice, proven_at, rows, requests)
    select 'main', 'invoices', 'date ' || d || '..' || d + 1, ${AT}, 1, 1 from generate_series(date '2020-01-01', date '2025-06-21', '2 days') g, lateral (select g::date as d) x`);
  await database.query(`insert into warehouse.row_history (resource, key, row, valid_from, valid_to, ended_by, run_id)
    select 'invoices', t.id::text, to_jsonb(t) || jsonb_build_object('items', (select jsonb_agg(to_jsonb(c) - 'invoice_id' order by c.line)
      from warehouse.invoice_items c where c.invoice_id = t.id)), t._synced_at, ${AT}, 'changed', ${RUN} from warehouse.invoices t`);
  await database.query(`update warehouse.invoices set amount = amount * 100, _synced_at = ${AT}`);
  await database.query('vacuum analyze');
}

const sum = async ({ database }: Postgres): Promise<string | undefined> =>
  (await database.query<{ sum: string }>('select sum(amount)::text as sum from warehouse.invoices')).rows[0]?.sum;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

const postgres = await openPostgres();
try {
  const environment = environmentOf({ url: 'http://127.0.0.1:9', apiKey: 'none' }, postgres.url);
  await runSluice(['migrate'], environment);
  await fill(postgres);
  progress(`${figure(rows)} rows are stored, and rewritten`);
  const after = await sum(postgres);
  const undone = await runSluice(['undo', RUN], environment);
  const before = await sum(postgres);
  if (undone.exit !== 0 || before === after) throw new Error('Nothing was undone.');
  const update = await timed(() =>
    postgres.database.query('update warehouse.invoices set amount = amount * 100, _synced_at = now()'),
  );
  const document = {
    rows,
    lines,
    undoMs: undone.ms,
    updateMs: update,
    undoToUpdate: undone.ms / update,
    peakMb: undone.peakMb,
  };
  print({
    json: given.json,
    document,
    head: ['rows', 'undo, s', 'one update, s', 'compared'],
    rows: [[figure(rows), figure(undone.ms / 1000, 1), figure(update / 1000, 1), figure(undone.ms / update, 1)]],
  });
} finally {
  await postgres.close();
}
