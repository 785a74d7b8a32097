import { expect, test } from 'vitest';
import { useBuild, withInstallation } from './run-command.ts';

useBuild();

test('refresh makes the named records, days or values equal now, and says what it took', async () => {
  await withInstallation({}, async ({ sandbox, database, sluice, sync }) => {
    await sync('invoices', 'customers');
    const [edited, gone, other] = [...sandbox.rows('invoices')].slice(-80) as {
      id: number;
      date: string;
      customer_id: number;
    }[];
    if (!edited || !gone || !other) throw new Error('too few invoices');
    const stored = async (id: number) =>
      (await database.query<{ notes: string }>('select notes from warehouse.invoices where id = $1', [id])).rows[0]
        ?.notes;

    sandbox.update('invoices', edited.id, { notes: 'one record' });
    const dry = await sluice('refresh', 'invoices', String(edited.id), '--dry-run');
    expect([dry.code, dry.stdout]).toEqual([
      0,
      expect.stringMatching(/record \d+: about \d+ requests?.* No request was sent\./),
    ]);
    const record = await sluice('refresh', 'invoices', String(edited.id), '--json');
    expect([record.code, record.json()]).toMatchObject([
      0,
      { equal: true, changed: 1, unsettled: 0, asOf: expect.stringMatching(/Z$/) as string },
    ]);
    expect((record.json() as { requests: number }).requests).toBeLessThanOrEqual(3);
    expect(await stored(edited.id)).toBe('one record');

    sandbox.update('invoices', edited.id, { notes: 'a value' });
    const value = await sluice('refresh', 'invoices', '--where', `customer_id=${edited.customer_id}`, '--json');
    expect([value.code, value.json()]).toMatchObject([0, { equal: true, changed: 1 }]);
    expect(await stored(edited.id)).toBe('a value');

    sandbox.update('invoices', other.id, { notes: 'days' });
    const days = await sluice('refresh', 'invoices', '--from', other.date, '--to', other.date);
    expect([days.code, days.stdout]).toEqual([0, expect.stringContaining('0 new, 1 changed, 0 deleted')]);
    expect(await stored(other.id)).toBe('days');

    const unknown = await sluice('refresh', 'invoices', '999999');
    expect([unknown.code, unknown.stdout]).toEqual([1, expect.stringContaining('999999')]);
    for (const [args, text] of [
      [[], 'What of invoices is to be refreshed?'],
      [['--where', 'notes=x'], 'with one of: status, customer_id'],
      [['x'], '"x" is not a key of invoices.'],
      [['--from', '2020-01-01', '--max-requests', '1'], 'None was sent.'],
    ] as const) {
      const wrong = await sluice('refresh', 'invoices', ...args);
      expect([wrong.code, wrong.stderr.replaceAll(/\s+/g, ' ')]).toEqual([2, expect.stringContaining(text)]);
    }
    const unread = await sluice('refresh', 'products', '1');
    expect([unread.code, unread.stderr]).toEqual([2, expect.stringContaining('products was never read.')]);
  });
});
