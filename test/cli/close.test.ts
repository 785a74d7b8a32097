import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createRandom } from '../../sandbox/data/random.ts';
import { checkSealFile } from '../../src/cli/output/seal-file.ts';
import { isKind } from '../../src/errors.ts';
import { everything } from '../support/long.ts';
import { withInstallation } from './run-command.ts';

test('a closed month keeps its rows, and every later change to it is told until it is closed again', async () => {
  await withInstallation({}, async ({ sandbox, database, sluice, sync }) => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-close-'));
    const file = join(folder, 'month.jsonl');
    const early = await sluice('close', monthOf(sandbox.now()));
    expect([early.code, early.stderr]).toEqual([2, expect.stringContaining('is not a month that is over')]);
    const month = lastMonthOf(sandbox);
    const unread = await sluice('close', month);
    expect([unread.code, unread.stderr]).toEqual([1, expect.stringContaining(`${month} cannot be closed: `)]);
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
    expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining('Nothing changed since.')]);

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
      expect.stringContaining('what changed since: 1 added, 2 changed, 1 deleted'),
    ]);
    expect((await sluice('close')).stdout).toContain('invoices: 2 changed');

    // An erased record leaves its hash.
    sandbox.remove('invoices', first.id);
    await sluice('sync', 'invoices', '--full');
    expect(await sluice('forget', 'invoices', `${first.id}`)).toMatchObject({ code: 0 });
    const erased = await sluice('close', month, '--export', file, '--json');
    expect(erased.json().restatements).toHaveLength(3);
    expect(readFileSync(file, 'utf8')).not.toContain('Corrected.');
    expect((await sluice('close', '--check', file)).stdout).toContain('1 row of it was erased');

    const again = await sluice('close', month, '--again', '--json');
    expect(again.json()).toMatchObject({ closed: true, restatements: [] });
    expect(again.json().digest).not.toBe(digest);
    rmSync(folder, { recursive: true });
  });
});

const monthOf = (at: number): string => new Date(at).toISOString().slice(0, 7);

const lastMonthOf = (sandbox: { now(): number }): string => monthOf(sandbox.now() - 32 * 24 * 3_600_000);

/** Ten thousand of them, if there is time. */
function findsEveryAlteredByte(text: string): void {
  const random = createRandom(1);
  const begins = text.indexOf('\n') + 1;
  const missed: number[] = [];
  for (let times = 0; times < (everything ? 10_000 : 500); times++) {
    const at = random.int(begins, text.length - 2);
    const other = String.fromCharCode((text.charCodeAt(at) ^ (1 << random.int(0, 4))) & 0x7f);
    try {
      checkSealFile(text.slice(0, at) + other + text.slice(at + 1));
      missed.push(at);
    } catch (error) {
      if (!isKind(error, 'usage', 'failed')) throw error;
    }
  }
  expect(missed).toEqual([]);
}
