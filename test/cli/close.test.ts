import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createRandom } from '../../sandbox/data/random.ts';
import { checkSealFile } from '../../src/cli/output/seal-file.ts';
import { isKind } from '../../src/errors.ts';
import { everything } from '../support/long.ts';
import { run, withInstallation } from './run-command.ts';

test('a closed month keeps its rows, and every later change to it is told until it is closed again', async () => {
  await withInstallation({}, async ({ sandbox, database, sluice, sync }) => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-close-'));
    const file = join(folder, 'month.jsonl');
    const early = await sluice('close', monthOf(sandbox.now()));
    expect([early.code, early.stderr]).toEqual([2, expect.stringContaining('is not a month that is over')]);
    const month = lastMonthOf(sandbox);
    const unread = await sluice('close', month);
    expect([unread.code, unread.stderr]).toEqual([1, expect.stringContaining(`${month} cannot be closed yet: `)]);
    expect(unread.stderr).toContain('sluice backfill ');

    await sync('invoices', 'transactions');
    const closed = await sluice('close', month, '--json');
    expect([closed.stderr, closed.code]).toEqual(['', 0]);
    const { lists, digest } = closed.json();
    const { rows } = await database.query(
      `select count(*)::int as rows, sum(amount)::text as amount from warehouse.invoices where to_char(date, 'YYYY-MM') = $1`,
      [month],
    );
    expect(lists[0]).toMatchObject({ resource: 'invoices', rows: rows[0]?.rows, sums: { amount: rows[0]?.amount } });
    expect(lists[1]).toMatchObject({ resource: 'transactions' });
    const shown = await sluice('close', month);
    expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining('Nothing has changed since.')]);

    // A third person.
    await sluice('close', month, '--export', file);
    const checked = await sluice('close', '--check', file, '--json');
    expect(checked.json()).toMatchObject({
      sound: true,
      month,
      digest,
      restated: { added: 0, changed: 0, deleted: 0 },
    });
    findsEveryAlteredByte(readFileSync(file, 'utf8'));
    refusesForgedLines(readFileSync(file, 'utf8'));
    expect((await sluice('close', '--check', file, '--digest', digest)).code).toBe(0);
    expect((await sluice('close', '--check', file, '--digest', 'f'.repeat(64))).code).toBe(1);

    const [first, second] = [...sandbox.rows('invoices')].filter(({ date }) => date?.startsWith(month));
    if (!first || !second) throw new Error('The sandbox has too few invoices a month.');
    sandbox.update('invoices', first.id, { notes: 'Corrected.' });
    sandbox.update('invoices', second.id, { date: '2001-01-01' });
    const [gone] = [...sandbox.rows('transactions')].filter(({ date }) => date?.startsWith(month));
    sandbox.remove('transactions', gone?.id ?? 0);
    const other = [...sandbox.rows('transactions')].find(({ date }) => !date?.startsWith(month));
    sandbox.update('transactions', other?.id ?? 0, { date: `${month}-15` });
    await sync('invoices', 'transactions');
    await sync('invoices', 'transactions');
    const restated = await sluice('close', month, '--export', file, '--json');
    expect(restated.json()).toMatchObject({
      digest,
      restatements: [
        {
          resource: 'invoices',
          key: `${first.id}`,
          kind: 'changed',
          before: { notes: first.notes },
          after: { notes: 'Corrected.' },
        },
        { resource: 'invoices', key: `${second.id}`, kind: 'changed', after: { date: '2001-01-01' } },
        { resource: 'transactions', kind: 'deleted' },
        { resource: 'transactions', key: `${other?.id}`, kind: 'added' },
      ].sort((a, b) => (a.resource + (a.key ?? gone?.id) < b.resource + (b.key ?? gone?.id) ? -1 : 1)),
    });
    const both = await sluice('close', '--check', file);
    expect([both.code, both.stdout]).toEqual([
      0,
      expect.stringContaining('rows have changed since: 1 added, 2 changed, 1 deleted'),
    ]);
    expect((await sluice('close')).stdout).toContain('invoices: 2 changed');

    // An erased record leaves its hash.
    sandbox.remove('invoices', first.id);
    await sluice('sync', 'invoices', '--full');
    expect(await sluice('forget', 'invoices', `${first.id}`)).toMatchObject({ code: 0 });
    const erased = await sluice('close', month, '--export', file, '--json');
    expect(erased.json().restatements).toHaveLength(3);
    expect(readFileSync(file, 'utf8')).not.toContain('Corrected.');
    expect((await sluice('close', '--check', file)).stdout).toContain('1 row was erased');

    const again = await sluice('close', month, '--again', '--json');
    expect(again.json()).toMatchObject({ closed: true, restatements: [] });
    expect(again.json().digest).not.toBe(digest);
    rmSync(folder, { recursive: true });
  });
});

test('--digest without --check is refused, and closes nothing', async () => {
  // No database answers there.
  const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' };
  for (const month of [[], ['2025-03']]) {
    const ended = await run(['close', ...month, '--digest', 'f'.repeat(64), '--json'], { env });
    const error = { kind: 'usage', message: expect.stringContaining('--check') as string };
    expect([ended.code, ended.json().error]).toMatchObject([2, error]);
  }
});

const monthOf = (at: number): string => new Date(at).toISOString().slice(0, 7);

const lastMonthOf = (sandbox: { now(): number }): string => monthOf(sandbox.now() - 32 * 24 * 3_600_000);

/** Ten thousand of them, if there is time: the file is refused, or its digest is another. */
function findsEveryAlteredByte(text: string): void {
  const random = createRandom(1);
  const { digest } = checkSealFile(text);
  const missed: number[] = [];
  for (let times = 0; times < (everything ? 10_000 : 500); times++) {
    const at = random.int(0, text.length - 2);
    const other = String.fromCharCode((text.charCodeAt(at) ^ (1 << random.int(0, 4))) & 0x7f);
    try {
      if (checkSealFile(text.slice(0, at) + other + text.slice(at + 1)).digest === digest) missed.push(at);
    } catch (error) {
      if (!isKind(error, 'usage', 'failed')) throw error;
    }
  }
  expect(missed).toEqual([]);
}

/** Lines that were added, and values that nobody closed. */
function refusesForgedLines(text: string): void {
  const [head = '', first = '', ...others] = text.trimEnd().split('\n');
  const { key, resource, row } = JSON.parse(first) as { key: string; resource: string; row: Record<string, unknown> };
  const line = (value: object) => JSON.stringify(value);
  const restated = { restated: 'changed', resource, key, before: { notes: 'forged' }, after: { notes: 'x' } };
  for (const lines of [
    [first, first],
    [first, line({ key: '1', resource: 'invoice', row })],
    [first, line({})],
    [line({ key, resource, row, erased: '0'.repeat(64) })],
    [first, line(restated)],
    [first, line({ ...restated, before: row.notes === undefined ? {} : { notes: row.notes } }), line(restated)],
    [first, line({ ...restated, key: 'none', restated: 'deleted' })],
    [first, line({ ...restated, restated: 'added' })],
  ])
    expect(() => checkSealFile([head, ...lines, ...others].join('\n')), lines.join('\n')).toThrow(/altered|not from/);
}

test('a month of which anything is in doubt is not closed', async () => {
  await withInstallation({}, async ({ sandbox, database, sluice, sync }) => {
    await sync('invoices', 'transactions');
    const month = lastMonthOf(sandbox);
    const [row] = [...sandbox.rows('invoices')].filter(({ date }) => date?.startsWith(month));
    const id = `${row?.id}`;
    const refusal = async (statement: string, undo: string) => {
      await database.query(statement);
      const { code, stderr } = await sluice('close', month);
      await database.query(undo);
      return [code, stderr.replaceAll(/\s+/g, ' ')];
    };
    const quarantine = (payload: string) =>
      refusal(
        `insert into sluice.quarantine (source, resource, key, payload, reasons, slice, first_seen, last_seen)
         values ('main', 'invoices', '?1', '${payload}', '{}', 'whole', sluice.now(), sluice.now())`,
        'delete from sluice.quarantine',
      );
    expect(await quarantine(`{"id": "x", "date": "${month}-03"}`)).toEqual([
      1,
      expect.stringContaining('1 record in quarantine'),
    ]);
    expect(await quarantine('{"id": "x"}')).toEqual([1, expect.stringContaining('1 record in quarantine')]);
    expect(
      await refusal(
        `insert into sluice.missing (source, resource, key, slice, since) values ('main', 'invoices', '${id}', 'whole', sluice.now())`,
        'delete from sluice.missing',
      ),
    ).toEqual([1, expect.stringContaining('1 row missing at the source or with held values')]);
    expect(
      await refusal(
        `update sluice.coverage set due_since = sluice.now(), due_reason = 'an undo' where resource = 'transactions'`,
        'update sluice.coverage set due_since = null, due_reason = null',
      ),
    ).toEqual([1, expect.stringContaining('to be read again')]);
    expect((await quarantine('{"id": "x", "date": "1999-01-01"}'))[0]).toBe(0);
  });
});

test('columns that are added, and values that move to them from _extra, change no closed month; a new value does', async () => {
  await withInstallation({}, async ({ sandbox, database, sluice, sync }) => {
    await sync('invoices', 'transactions');
    const month = lastMonthOf(sandbox);
    await database.query(`update warehouse.invoices set _extra = '{"project": "19.00"}'`);
    expect((await sluice('close', month)).code).toBe(0);
    await database.query(`alter table warehouse.invoices add column project numeric, add column tax numeric;
      update warehouse.invoices set project = 19.00, _extra = null; alter table warehouse.invoice_items add column unit text`);
    const restated = async () => (await sluice('close', month, '--json')).json().restatements as { after: object }[];
    expect(await restated()).toEqual([]);
    const { rows } = await database.query<{ id: string }>(
      `update warehouse.invoices set tax = 2 where id = (select max(id) from warehouse.invoices where to_char(date, 'YYYY-MM') = $1) returning id`,
      [month],
    );
    expect(await restated()).toMatchObject([
      { key: rows[0]?.id, kind: 'changed', before: { tax: null }, after: { tax: '2' } },
    ]);
  });
});
