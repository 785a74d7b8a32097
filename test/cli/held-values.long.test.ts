import { expect, test } from 'vitest';
import { useBuild, withInstallation } from './run-command.ts';

useBuild();

test('values that the source shows empty are held wherever Sluice reports, until one word accepts the loss', async () => {
  await withInstallation({}, async ({ sandbox, database, sluice, sync }) => {
    await sync('invoices');
    const { rows: stored } = await database.query<{ filled: number; first: number }>(
      'select count(amount)::int as filled, min(id)::int as first from warehouse.invoices',
    );
    const { filled, first } = stored[0] as { filled: number; first: number };
    sandbox.setBadDay({ kind: 'renamed', resource: 'invoices', field: 'amount' });

    const second = await sluice('sync', 'invoices');
    const accept = 'sluice sync invoices --accept-losses invoices.amount';
    expect([second.code, second.stderr]).toEqual([
      1,
      expect.stringContaining(`The source shows invoices without what is stored: amount in ${filled} rows.`),
    ]);
    expect(second.stderr.replaceAll(/\s+/g, ' ')).toContain(accept);
    const status = (await sluice('status')).stdout;
    expect(status).toMatch(/^resource .* held +missing +quarantined$/m);
    expect(status).toMatch(new RegExp(`^invoices .* ${filled} +0 +0$`, 'm'));
    for (const line of status.match(/^(?:resource|invoices) .*$/gm) ?? [])
      expect(line.length, line).toBeLessThanOrEqual(100);
    const why = await sluice('why', 'invoices', `${first}`);
    expect(why.stdout).toContain(`invoices ${first} holds what the source has shown empty since`);
    expect(why.stdout).toContain('Kept as stored: amount.');

    const wrong = await sluice('sync', 'invoices', '--accept-losses', 'invoices.amonut');
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      expect.stringMatching(/--accept-losses invoices\.amonut names no field .*\s*Fields of invoices: .*amount/),
    ]);
    const other = await sluice('sync', 'invoices', '--accept-losses', 'customers.email');
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('Expected: <list>.<field>')]);

    const accepted = await sluice('sync', 'invoices', '--accept-losses', 'invoices.amount');
    expect([accepted.code, accepted.stderr]).toEqual([0, expect.not.stringContaining('without what is stored')]);
    const { rows: left } = await database.query('select count(amount)::int as left from warehouse.invoices');
    expect(left).toEqual([{ left: 0 }]);
    expect((await sluice('status')).stdout).not.toMatch(/ held /);
  });
});
