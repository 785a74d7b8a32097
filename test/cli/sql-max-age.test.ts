import { expect, test } from 'vitest';
import { isDraft } from '../../sandbox/data/table.ts';
import { run, useBuild, withInstallation } from './run-command.ts';

useBuild();

test('a query with --max-age reads what is older again first, and says how old its answer is', async () => {
  await withInstallation({}, async ({ sandbox, sluice, sync }) => {
    await sync('invoices', 'customers');
    const [edited] = [...sandbox.rows('invoices')].slice(-80) as { id: number; date: string; customer_id: number }[];
    if (!edited) throw new Error('too few invoices');
    const ask = async (...args: string[]) => {
      const { code, stdout, stderr } = await sluice('sql', '--json', ...args);
      return { code, rows: code === 0 ? (JSON.parse(stdout) as Record<string, unknown>[]) : null, stderr };
    };
    const ofCustomer = `select notes from invoices where customer_id = ${edited.customer_id} and id = ${edited.id}`;

    sandbox.update('invoices', edited.id, { notes: 'first' });
    const stale = await ask(ofCustomer);
    expect(stale.rows).not.toEqual([{ notes: 'first' }]);
    expect(stale.stderr).toMatch(/As of \d+ \w+ ago\./);
    const fresh = await ask(ofCustomer, '--max-age', '0');
    expect([fresh.code, fresh.rows, fresh.stderr]).toEqual([
      0,
      [{ notes: 'first' }],
      expect.stringMatching(/As of \d+ s ago; \d requests?\./),
    ]);
    const kept = await ask(ofCustomer, '--max-age', '5m');
    expect([kept.rows, kept.stderr]).toEqual([[{ notes: 'first' }], expect.not.stringContaining('request')]);

    sandbox.update('invoices', edited.id, { notes: 'second' });
    const days = await ask(
      `select notes from invoices where date = '${edited.date}' and id = ${edited.id}`,
      '--max-age',
      '0',
    );
    expect([days.code, days.rows]).toEqual([0, [{ notes: 'second' }]]);
    // Child rows come with their record.
    sandbox.update('invoices', edited.id, { items: [{ description: 'one', amount: 5, qty: 1 }] });
    const items = await ask(`select description from invoice_items where invoice_id = ${edited.id}`, '--max-age', '0');
    expect([items.code, items.rows]).toEqual([0, [{ description: 'one' }]]);
    // What is left of a customer is what the source shows.
    sandbox.remove('invoices', edited.id);
    const gone = await ask(ofCustomer, '--max-age', '0');
    expect([gone.code, gone.rows]).toEqual([0, []]);

    // A record that cannot be read is excepted, and its last good row stays.
    const [, bad] = [...sandbox.rows('invoices')].slice(-80) as { id: number; customer_id: number }[];
    sandbox.update('invoices', bad?.id ?? 0, { amount: 'much' });
    const excepted = await ask(`select id from invoices where customer_id = ${bad?.customer_id}`, '--max-age', '0');
    expect([excepted.code, excepted.rows, excepted.stderr]).toEqual([
      0,
      expect.arrayContaining([{ id: bad?.id }]),
      expect.stringMatching(/As of \d+ s ago, except 1 record in quarantine; \d requests?\./),
    ]);

    const before = sandbox.stats.requests.length;
    for (const [args, code, text] of [
      [['select count(*) from invoices', '--max-age', '0', '--max-requests', '1'], 2, 'None was sent.'],
      [['select count(*) from products', '--max-age', '1h'], 2, 'products was not read in full yet'],
      [['show search_path', '--max-age', '1h'], 2, 'What this statement reads cannot be told'],
      [['select 1', '--max-age', 'soon'], 2, '--max-age soon is not valid'],
      [['select 1', '--wait', '5'], 2, '--max-requests and --wait apply to --max-age'],
    ] as const) {
      const refused = await ask(...args);
      expect([args, refused.code, refused.stderr.replaceAll(/\s+/g, ' ')]).toEqual([
        args,
        code,
        expect.stringContaining(text),
      ]);
    }
    expect(sandbox.stats.requests.length).toBe(before);
    const none = await ask('select 1 as n', '--max-age', '0');
    expect([none.rows, none.stderr]).toEqual([[{ n: 1 }], expect.not.stringContaining('As of')]);
  });
});

test('a record that is not stored is sought among the newest rows, then in the whole list', async () => {
  // The newest rows come last.
  await withInstallation({ variants: { order: 'updated-asc' } }, async ({ sandbox, sluice, sync }) => {
    await sync('customers');
    const ask = async (id: number, ...args: string[]) => {
      const query = `select id from customers where id = ${id}`;
      const { code, stdout, stderr } = await sluice('sql', '--json', query, '--max-age', '0', ...args);
      return [code, code === 0 ? (JSON.parse(stdout) as unknown) : null, stderr.replaceAll(/\s+/g, ' ')];
    };
    const asOf: unknown = expect.stringMatching(/As of \d+ s ago; \d+ requests?\./);
    const [first] = sandbox.rows('customers');
    if (!first) throw new Error('no customer');
    const { id } = sandbox.insert('customers', { ...first, account: 'New' });
    expect(await ask(id)).toEqual([0, [{ id }], asOf]);
    expect(await ask(id + 1)).toEqual([0, [], asOf]);
    const tooMuch: unknown = expect.stringMatching(
      /about \d+ requests?, and at most 1 are allowed\. \d+ requests? did not suffice\./,
    );
    expect(await ask(id + 2, '--max-requests', '1')).toEqual([1, null, tooMuch]);
  });
});

test('a row that has just come and is lacking now may be gone; one that is shown again is not in doubt', async () => {
  await withInstallation({}, async ({ sandbox, env, sync }) => {
    await sync('invoices', 'customers');
    const [row] = [...sandbox.rows('invoices')].slice(-80) as { id: number; customer_id: number }[];
    if (!row) throw new Error('too few invoices');
    const lagging = { env: { ...env, SOURCE_LAG_SECONDS: '600' } };
    const query = `select id from invoices where customer_id = ${row.customer_id} and id = ${row.id}`;
    const ask = () => run(['sql', '--json', query, '--max-age', '0'], lagging);
    const shown = await ask();
    expect([shown.code, JSON.parse(shown.stdout)]).toEqual([0, [{ id: row.id }]]);
    sandbox.remove('invoices', row.id);
    const lacking = await ask();
    expect([lacking.code, lacking.stderr.replaceAll(/\s+/g, ' ')]).toEqual([
      1,
      expect.stringContaining('1 row of invoices may be gone, which is not proven yet'),
    ]);
    const refresh = await run(['refresh', 'invoices', '--where', `customer_id=${row.customer_id}`, '--json'], lagging);
    expect([refresh.code, JSON.parse(refresh.stdout)]).toMatchObject([1, { equal: false, unsettled: 1 }]);
  });
});

test('a row that left its customer is doubted until answers no longer lag behind', async () => {
  await withInstallation({}, async ({ sandbox, database, env, sync }) => {
    await sync('invoices', 'customers');
    // It was stored long ago.
    await database.query("update warehouse.invoices set _synced_at = _synced_at - interval '1 day'");
    const [row] = [...sandbox.rows('invoices')].slice(-80) as { id: number; customer_id: number }[];
    if (!row) throw new Error('too few invoices');
    sandbox.remove('invoices', row.id);
    const lagging = { env: { ...env, SOURCE_LAG_SECONDS: '600' } };
    const query = `select id from invoices where customer_id = ${row.customer_id}`;
    for (const age of ['0', '1h']) {
      const lacking = await run(['sql', '--json', query, '--max-age', age], lagging);
      expect([lacking.code, lacking.stderr.replaceAll(/\s+/g, ' ')]).toEqual([
        1,
        expect.stringContaining('1 row of invoices may be gone, which is not proven yet'),
      ]);
    }
  });
});

test('a whole list that is read by days has rows of none of them, too', async () => {
  const size = { customers: 5, invoices: 400, transactions: 0 };
  await withInstallation({ size, variants: { drafts: 'hidden', order: 'updated-desc' } }, async ({ sandbox, env }) => {
    const short = { env: { ...env, SOURCE_PAGE_SIZE: '20' } };
    // Without a draft, days are all that the list needs.
    for (const { id } of [...sandbox.rows('invoices')]) if (isDraft(id)) sandbox.remove('invoices', id);
    expect((await run(['sync', 'invoices', 'customers'], short)).code).toBe(0);
    const [first] = sandbox.rows('invoices');
    if (!first) throw new Error('no invoice');
    let { id } = sandbox.insert('invoices', first);
    while (!isDraft(id)) ({ id } = sandbox.insert('invoices', first));
    const query = ['sql', '--json', 'select id from invoices', '--max-age', '0', '--max-requests', '500'];
    const { code, stdout, stderr } = await run(query, short);
    expect([code, code === 0 ? JSON.parse(stdout).length : stderr]).toEqual([0, [...sandbox.rows('invoices')].length]);
  });
});

test('a doubt about the rows of one customer is none about those of another in the same days', async () => {
  await withInstallation({}, async ({ sandbox, env, sync }) => {
    await sync('invoices', 'customers');
    const rows = [...sandbox.rows('invoices')].slice(-80) as { id: number; date: string; customer_id: number }[];
    const [row] = rows;
    const other = rows.find(each => each.customer_id !== row?.customer_id)?.customer_id;
    if (!row || other === undefined) throw new Error('too few invoices');
    const lagging = { env: { ...env, SOURCE_LAG_SECONDS: '600' } };
    const ask = async (customer: number, age: string) => {
      const query = `select id from invoices where customer_id = ${customer}`;
      const { code, stderr } = await run(['sql', '--json', query, '--max-age', age], lagging);
      return { code, said: stderr.replaceAll(/\s+/g, ' ') };
    };
    expect((await ask(other, '0')).code).toBe(0);
    sandbox.remove('invoices', row.id);
    expect(await ask(row.customer_id, '0')).toEqual({ code: 1, said: expect.stringContaining('may be gone') });
    expect(await ask(other, '1h')).toEqual({ code: 0, said: expect.not.stringContaining('request') });
    const refresh = await run(['refresh', 'invoices', '--where', `customer_id=${other}`, '--json'], lagging);
    expect([refresh.code, JSON.parse(refresh.stdout)]).toMatchObject([0, { equal: true, unsettled: 0 }]);
    expect((await ask(other, '0')).code).toBe(0);
  });
});

test('where a list of a customer leaves out what is empty, its rows are read in full before they count as equal', async () => {
  await withInstallation({ variants: { none: 'absent' } }, async ({ sandbox, sluice, sync }) => {
    const invoices = [...sandbox.rows('invoices')] as { id: number; customer_id: number }[];
    const row = invoices.at(-80);
    if (!row) throw new Error('too few invoices');
    // No invoice of the customer has notes; others have.
    for (const { id, customer_id: of } of invoices)
      sandbox.update('invoices', id, { notes: of === row.customer_id ? null : 'some' });
    await sync('invoices', 'customers');
    sandbox.update('invoices', row.id, { amount: '77.01' });
    const query = `select amount from invoices where customer_id = ${row.customer_id} and id = ${row.id}`;
    const { code, stdout, stderr } = await sluice('sql', '--json', query, '--max-age', '0');
    expect([code, stderr.replaceAll(/\s+/g, ' ')]).toEqual([
      0,
      expect.stringMatching(/As of \d+ s ago; \d+ requests\./),
    ]);
    expect(JSON.parse(stdout)).toEqual([{ amount: 77.01 }]);
  });
});

test('what is dated ahead, because the clock was put back since, does not count as fresh', async () => {
  await withInstallation({}, async ({ sandbox, database, sluice, sync }) => {
    await sync('customers');
    const [row] = sandbox.rows('customers');
    await database.query(`update sluice.coverage set proven_at = proven_at + interval '1 hour'`);
    sandbox.update('customers', row?.id ?? 0, { phone: '+43 1 23' });
    const query = `select phone from customers where id = ${row?.id}`;
    const { stdout } = await sluice('sql', '--json', query, '--max-age', '5m');
    expect(JSON.parse(stdout)).toEqual([{ phone: '+43 1 23' }]);
  });
});
