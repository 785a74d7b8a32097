import { describe, expect, test } from 'vitest';
import type { Rows } from '../../sandbox/data/rows.ts';
import { openSandbox, type Sandbox, type SandboxOptions } from '../../sandbox/sandbox.ts';
import { createMemoryBudget } from '../../src/budget/memory-budget.ts';
import { type Clock, MINUTE, SECOND, systemClock } from '../../src/clock.ts';
import type { Resource } from '../../src/engine/resource.ts';
import type { ReadBack } from '../../src/push/reconcile.ts';
import { runPush } from '../../src/push/run-push.ts';
import { createSender } from '../../src/push/sender.ts';
import { checkLines, PUSH_TARGETS, type PushTarget } from '../../src/push/targets.ts';
import { openClient } from '../../src/source/client.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import { type PushItem, readItems, startPush } from '../../src/warehouse/pushes/pushes.ts';
import { json, openPeer } from '../source/peer.ts';
import { differences } from '../support/compare.ts';
import { withDatabase } from '../support/database.ts';
import type { TestResource } from '../support/resources.ts';
import { openEngine, serveOrders } from '../support/source.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

interface Given {
  readonly sandbox: Sandbox;
  readonly database: Database;
  /** Runs `pushLines` against the sandbox and returns the states in the order of the file. */
  readonly push: (
    name: string,
    bodies: readonly object[],
    how?: How,
  ) => Promise<{ states: string[]; requests: number }>;
}

interface How {
  /** The address it is sent to; the list is read from the sandbox. Default: the sandbox. */
  readonly url?: string;
  readonly batch?: number;
  readonly resendUnknown?: boolean;
  readonly signal?: AbortSignal;
  readonly onSent?: () => void;
}

/** Pushes these bodies like the lines of a file, and returns the items afterwards and the number of requests sent. */
async function pushLines(
  to: {
    url: string;
    apiKey: string;
    database: Database;
    resource: Resource | null;
    readBack: ReadBack;
    clock?: Clock;
    quietMs?: number;
  },
  name: string,
  bodies: readonly object[],
  how: How = {},
): Promise<{ items: PushItem[]; requests: number }> {
  const { url, apiKey, database, resource, readBack, clock = systemClock, quietMs = 0 } = to;
  const target = PUSH_TARGETS[name] as PushTarget;
  const { lines, problems } = checkLines(
    target,
    bodies.map((value, index) => ({ line: index + 1, value })),
  );
  expect(problems).toEqual([]);
  const pushId = await startPush(database, { source: 'main', resource: name }, 'a.ndjson', lines);
  const budget = createMemoryBudget({ limit: 10_000, windowMs: 1000, clock });
  const sender = createSender(budget, noticed =>
    openClient({ url, apiKey, auth: 'bearer', budget: noticed, concurrency: 1, timeoutMs: 5000, clock }),
  );
  try {
    await runPush({
      database,
      clock,
      signal: how.signal ?? new AbortController().signal,
      pushId,
      name,
      target,
      resource,
      sender,
      batchSize: how.batch ?? 10,
      quietMs,
      resendUnknown: how.resendUnknown ?? false,
      readBack,
      onQuietWait: () => undefined,
      onSent: how.onSent ?? (() => undefined),
    });
  } finally {
    await sender.close();
  }
  return { items: await readItems(database.kysely, pushId), requests: sender.requests };
}

/** Two pages of customers. */
const SIZE = { customers: 30, invoices: 40, transactions: 60 };

async function withSource(
  options: SandboxOptions,
  resources: TestResource[],
  fn: (given: Given) => Promise<void>,
  /** How far answers may lag, and how long the source may act on a request; with them, time is virtual. */
  late?: { lagMs: number; quietMs: number },
) {
  await withDatabase(async database => {
    const clock = late ? await createVirtualClock(database) : systemClock;
    const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, ...(late && { clock }), ...options });
    const engine = await openEngine(database, sandbox, { resources, clock, lagMs: late?.lagMs ?? 0 });
    const push: Given['push'] = async (name, bodies, how) => {
      const resource = engine.resources.find(each => each.name === name) ?? null;
      const readBack: ReadBack = async ask => {
        const [kind, range] =
          ask === 'newest' ? ['sync' as const, {}] : ['backfill' as const, { dateFrom: ask.from, dateTo: ask.to }];
        const served = await serveOrders({ ...engine, resources: resource ? [resource] : [] }, kind, range);
        expect(served).toMatchObject([{ state: 'done' }]);
      };
      const { url = sandbox.url } = how ?? {};
      const { apiKey } = sandbox;
      const to = { url, apiKey, database, resource, readBack, clock, quietMs: late?.quietMs ?? 0 };
      const { items, requests } = await pushLines(to, name, bodies, how);
      return { states: items.map(item => item.state), requests };
    };
    if (resources.length > 0) await serveOrders(engine, 'sync');
    if (late) {
      await clock.sleep(10 * MINUTE);
      // A cache now has the answers from before the push.
      await serveOrders(engine, 'sync');
      await clock.sleep(SECOND);
    }
    await fn({ sandbox, database, push });
    await engine.close();
    await sandbox.close();
  });
}

const customers = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ account: `Pushed ${index}`, email: `p${index}@example.com` }));
const all = (count: number, state: string) => Array.from({ length: count }, () => state);
const differ = async (database: Database, sandbox: Sandbox, table: string) =>
  (await differences(database, sandbox, Number.POSITIVE_INFINITY)).filter(text => text.startsWith(table));
/** The number of pushed customers in the source, and of their distinct accounts. */
const created = (sandbox: Sandbox) => {
  const accounts = [...sandbox.rows('customers')]
    .map(row => row.account)
    .filter(account => account.startsWith('Pushed'));
  return [accounts.length, new Set(accounts).size];
};

test.each([
  'html-500',
  'json-502',
  'cut-json',
  'empty-200',
  'reset-body',
  'drop',
  'reset',
  'html-200',
  'redirect-path',
] as const)(
  'after an answer lost to %s, created lines are found, the others are sent again, and each record exists once',
  async fault => {
    await withSource({}, ['customers'], async ({ sandbox, database, push }) => {
      sandbox.failNext(fault, 1, 'batch');
      const lines = [...customers(25), { account: 'Pushed alone', phone: '1' }];
      expect((await push('customers', lines)).states).toEqual(all(26, 'created'));
      expect(created(sandbox)).toEqual([26, 26]);
      sandbox.failNext(fault, 1, 'customers');
      const more = [...lines, { account: 'Pushed late', city: 'Graz' }];
      expect((await push('customers', more)).states).toEqual(all(27, 'created'));
      expect(created(sandbox)).toEqual([27, 27]);
      expect(await differ(database, sandbox, 'customers')).toEqual([]);
    });
  },
);

test('lines whose content is not kept any more are not created again; those still to be created get it from their file', async () => {
  await withSource({ variants: { validation: '422' } }, ['customers'], async ({ sandbox, database, push }) => {
    const lines = [...customers(3), { account: 'Pushed wrongly', email: 'büro@müller.example' }];
    expect((await push('customers', lines, { batch: 1 })).states).toEqual([...all(3, 'created'), 'refused']);
    await database.query("update sluice.push_items set body = '{}', message = null, row_key = null");
    const states = (await push('customers', [...lines, { account: 'Pushed late', city: 'Graz' }], { batch: 1 })).states;
    expect(states).toEqual([...all(3, 'created'), 'refused', 'created']);
    expect(created(sandbox)).toEqual([4, 4]);
    const { rows } = await database.query<{ body: object }>('select body from sluice.push_items order by id');
    expect(rows.map(({ body }) => body).slice(0, 4)).toEqual([{}, {}, {}, lines[3]]);
  });
});

test.each([
  ['all', '422'],
  ['all', '200'],
  ['partial', '400'],
] as const)(
  'of a batch with entries that the source refuses (%s, %s), those are refused and the others created once',
  async (batch, validation) => {
    await withSource({ variants: { batch, validation } }, ['customers'], async ({ sandbox, push }) => {
      // Legal addresses, which this source does not take.
      const lines = customers(25).map((line, index) =>
        index % 9 === 4 ? { ...line, email: `büro${index}@müller.example` } : line,
      );
      const { states } = await push('customers', lines);
      expect(states).toEqual(lines.map((_, index) => (index % 9 === 4 ? 'refused' : 'created')));
      expect(created(sandbox)).toEqual([22, 22]);
      const asked = sandbox.stats.total;
      expect((await push('customers', lines)).requests).toBe(1);
      expect(created(sandbox)).toEqual([22, 22]);
      // The first push has looked for them, so the second one begins with sending.
      expect(sandbox.stats.requests[asked]).toMatchObject({ method: 'POST' });
    });
  },
);

test.each([
  [
    'products',
    [
      { name: 'Pushed', price: '19.90', tax_rate: '20' },
      { name: 'Pushed', price: 5, type: 'service' },
    ],
  ],
  [
    'quotes',
    [12, '10.1'].map(amount => ({
      customer_id: 3,
      valid_until: '2027-02-28',
      items: [{ description: 'Work', amount, qty: 3 }],
    })),
  ],
  ['tickets', ['Low', 'High'].map(priority => ({ customer_id: 3, department_id: 2, subject: 'Pushed', priority }))],
] as const)(
  '%s: a line whose answer was lost is found in the list, and each record exists once',
  async (name, lines) => {
    await withSource({}, [name], async ({ sandbox, database, push }) => {
      const before = [...sandbox.rows(name)].length;
      sandbox.failNext('drop', 1, name);
      expect((await push(name, lines)).states).toEqual(all(2, 'created'));
      expect((await push(name, lines)).requests).toBe(0);
      expect([...sandbox.rows(name)].length).toBe(before + 2);
      expect(await differ(database, sandbox, name)).toEqual([]);
    });
  },
);

test('a line that was refused and yet created, by a push that was cut off before it could check, is found', async () => {
  await withSource({}, ['customers'], async ({ sandbox, database, push }) => {
    const line = { account: 'Pushed once', email: 'büro@müller.example' };
    const [like] = sandbox.rows('customers');
    const cutOff = () => {
      sandbox.insert('customers', { ...(like as Rows['customers']), ...line });
      throw new Error('cut off');
    };
    await expect(push('customers', [line], { onSent: cutOff })).rejects.toThrow('cut off');
    expect((await database.query('select state from sluice.push_items')).rows).toEqual([{ state: 'refused' }]);
    expect(await push('customers', [line])).toEqual({ states: ['created'], requests: 0 });
  });
});

test('a key that the source repeats in a message about an entry does not reach the log of pushes', async () => {
  const apiKey = 'sk_live_51H+8a/secret=';
  const { url } = await openPeer((response, _nth, request) => {
    const said = `${'far '.repeat(68)}${request.headers.authorization} may not do this`;
    json(response, { success: true, data: [{ id: 1 }, { success: false, errors: { account: said } }] });
  });
  await withDatabase(async database => {
    const to = { url, apiKey, database, resource: null, readBack: async () => undefined };
    const { items } = await pushLines(to, 'customers', customers(2));
    expect(items.map(item => item.state)).toEqual(['created', 'refused']);
    // It is cut after 300 characters, which without hiding are in the middle of the key.
    expect(items[1]?.message).toMatch(/^account: far .* Bearer \[secret\] may…$/);
  });
});

test('a message about a line is stored even if it contains, or is cut into, half of a surrogate pair', async () => {
  const halves = `\ud83d${'x'.repeat(298)}\u{1f600}`;
  const { url } = await openPeer((response, nth) =>
    nth === 1
      ? json(response, { success: true, data: [{ id: 1 }, { success: false, errors: { account: `no\0\udc00` } }] })
      : json(response, { success: false, message: halves, errors: { 'na\0me': halves } }, 422),
  );
  await withDatabase(async database => {
    const to = { url, apiKey: 'key', database, resource: null, readBack: async () => undefined };
    const { items } = await pushLines(to, 'customers', [...customers(2), { account: 'Pushed', city: 'Graz' }]);
    expect(items.map(item => item.state)).toEqual(['created', 'refused', 'refused']);
    expect(items[1]?.message).toBe('account: no \ufffd');
    expect(items[2]?.message).toContain(`\ufffd${'x'.repeat(298)}\ufffd… (na me: \ufffdx`);
  });
});

test('a row stored before the push is not matched to a line', async () => {
  await withSource({}, ['customers'], async ({ sandbox, push }) => {
    const [first] = sandbox.rows('customers');
    const { account = '', email } = first ?? {};
    sandbox.failNext('drop', 1, 'customers');
    expect((await push('customers', [{ account, email }], { batch: 1 })).states).toEqual(['created']);
    expect([...sandbox.rows('customers')].filter(row => row.account === account && row.email === email)).toHaveLength(
      2,
    );
  });
});

test.each([
  ['customers', { account: 'Pushed & Co', email: 'p@example.com' }, { account: 'Company 1' }],
  ['customers', { account: 'Pushed & Co' }, { account: 'Pushed &amp; Co' }],
  [
    'customers',
    { account: 'Pushed', phone: '+43 1 234', city: 'Graz' },
    { account: 'P.', phone: '+431234', city: 'A-' },
  ],
  [
    'invoices',
    { customer_id: 3, date: '2024-02-29', items: [{ description: 'Work', amount: 10.125 }] },
    { date: '2024-03-01', items: [{ description: 'Work', amount: 10.13, qty: 1 }] },
  ],
  ['transactions', { type: 'Income', account_id: 1, amount: 12.105, date: '2024-02-29' }, { amount: 12.11 }],
  [
    'quotes',
    { customer_id: 3, valid_until: '2027-02-28', items: [{ amount: 10.125 }] },
    { valid_until: '2027-03-01', items: [{ description: null, amount: 10.13, qty: 1 }] },
  ],
  [
    'tickets',
    { customer_id: 3, department_id: 2, subject: 'Pushed', message: 'a', priority: 'Low' },
    { customer_id: 4, message: 'b', priority: 'High' },
  ],
  ['products', { name: 'Pushed', price: 10.125 }, { price: 10.13 }],
] as const)(
  '%s %j that the source shows with %j is not sent again by itself after its answer was lost',
  async (name, line, rewritten) => {
    await withSource({}, [name], async ({ sandbox, database, push }) => {
      const rows = () => [...sandbox.rows(name)];
      const before = rows().length;
      sandbox.failNext('html-500', 1, name);
      const onSent = () => void sandbox.update(name, rows().at(-1)?.id ?? 0, rewritten as object);
      expect(await push(name, [line], { onSent })).toEqual({ states: ['unknown'], requests: 1 });
      const { rows: items } = await database.query('select message from sluice.push_items');
      const like = new RegExp(`^A similar, but not equal, row is new: (id ${rows().at(-1)?.id}|_key \\w+)\\.$`);
      expect(items).toEqual([{ message: expect.stringMatching(like) }]);
      expect(await push(name, [line])).toEqual({ states: ['unknown'], requests: 0 });
      expect(rows().length).toBe(before + 1);
      expect(await push(name, [line], { resendUnknown: true })).toEqual({ states: ['created'], requests: 1 });
      expect(rows().length).toBe(before + 2);
    });
  },
);

test('a line that is not in the source is sent again, whatever else is new there', async () => {
  await withSource({}, ['customers'], async ({ sandbox, push }) => {
    const line = { account: 'Pushed', email: 'p@example.com', city: 'Graz', country: 'Austria' };
    sandbox.failNext('html-500', 1, 'customers');
    let first = true;
    const onSent = () => {
      const row = [...sandbox.rows('customers')].at(-1);
      if (first && row) {
        sandbox.remove('customers', row.id);
        sandbox.insert('customers', { ...row, account: 'Somebody', email: 's@example.com' });
      }
      first = false;
    };
    expect(await push('customers', [line], { onSent })).toEqual({ states: ['created'], requests: 2 });
  });
});

test('a source that does not show a line it reported as created proves no other line absent', async () => {
  await withSource({ variants: { visible: 'half' } }, ['customers'], async ({ sandbox, push }) => {
    const one = customers(12);
    sandbox.failNext('html-500', 1, 'batch');
    const { states } = await push('customers', one, { batch: 4 });
    // Of the four whose answer was lost, two are shown.
    expect(states.filter(state => state !== 'created')).toEqual(['unknown', 'unknown']);
    expect(created(sandbox)).toEqual([12, 12]);
    expect((await push('customers', one, { batch: 4 })).requests).toBe(0);
    expect(created(sandbox)).toEqual([12, 12]);
  });
});

test.each(['yes', 'no'] as const)('equal transactions of one day are each created once, with ids: %s', async ids => {
  const variants = { 'transaction-ids': ids };
  await withSource({ variants }, ['transactions'], async ({ sandbox, database, push }) => {
    const line = { type: 'Income', account_id: 1, amount: '12.10', date: '2024-02-29', description: 'Cash' };
    const other = { ...line, date: '2025-01-01' };
    await push('transactions', [line]);
    // Of three equal ones, the answer of the second is lost, and that of the fourth request comes before it arrives.
    const lines = [line, line, other, line];
    sandbox.failNext('html-500', 1, 'transactions');
    const pushed = await push('transactions', lines, { onSent: () => undefined });
    expect(pushed.states).toEqual(all(4, 'created'));
    const rows = [...sandbox.rows('transactions')].filter(row => row.description === 'Cash');
    expect(rows.map(row => row.date)).toEqual(['2024-02-29', '2024-02-29', '2025-01-01', '2024-02-29']);
    expect((await push('transactions', lines)).requests).toBe(0);
    expect(await differ(database, sandbox, 'transactions')).toEqual([]);
  });
});

test.each(['yes', 'no'] as const)(
  'a line that was certainly created gets the row before a doubtful one, which is sent again; with ids in the list: %s',
  async ids => {
    const variants = { 'transaction-ids': ids };
    await withSource({ variants }, ['transactions'], async ({ sandbox, database, push }) => {
      const line = { type: 'Income', account_id: 1, amount: '12.10', date: '2024-02-29', description: 'Cash' };
      // The first one never arrives, and the second, which is equal to it, is answered with its id.
      sandbox.failNext('drop', 1, 'transactions');
      expect(await push('transactions', [line, line])).toEqual({ states: all(2, 'created'), requests: 3 });
      expect([...sandbox.rows('transactions')].filter(row => row.description === 'Cash')).toHaveLength(2);
      const { rows } = await database.query(
        'select count(distinct row_key)::int as rows, count(source_id)::int as ids from sluice.push_items',
      );
      expect(rows).toEqual([{ rows: 2, ids: 2 }]);
      expect(await differ(database, sandbox, 'transactions')).toEqual([]);
    });
  },
);

test('a line of unknown outcome without a list to check is sent again only with resendUnknown', async () => {
  await withSource({}, [], async ({ sandbox, push }) => {
    const leads = [1, 2, 3].map(number => ({ first_name: 'Ann', last_name: `Lee ${number}` }));
    const there = () => [...sandbox.rows('leads')].filter(row => row.last_name?.startsWith('Lee ')).length;
    sandbox.failNext('html-500', 1, 'leads');
    expect(await push('leads', leads)).toEqual({ states: ['unknown', 'created', 'created'], requests: 3 });
    expect(await push('leads', leads)).toEqual({ states: ['unknown', 'created', 'created'], requests: 0 });
    expect(there()).toBe(3);
    expect(await push('leads', leads, { resendUnknown: true })).toEqual({ states: all(3, 'created'), requests: 1 });
    expect(there()).toBe(4);
  });
});

test('a push to a source that is down ends after three lost answers, and marks nothing as sent that was not', async () => {
  await withSource({}, [], async ({ sandbox, database, push }) => {
    const leads = Array.from({ length: 9 }, (_, number) => ({ first_name: 'Ann', last_name: `Lee ${number}` }));
    sandbox.failNext('drop', 3, 'leads');
    const asked = sandbox.stats.total;
    await expect(push('leads', leads)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(sandbox.stats.total - asked).toBe(3);
    const { rows } = await database.query(
      'select state, count(*)::int as count from sluice.push_items group by 1 order by 1',
    );
    expect(rows).toEqual([
      { state: 'planned', count: 6 },
      { state: 'unknown', count: 3 },
    ]);
  });
});

const leadsOf = (count: number) => Array.from({ length: count }, (_, number) => ({ company: `Pushed ${number}` }));

test.each([
  [405, 0, 1, 'does not allow creating records'],
  [404, 0, 3, 'is answered with 404 for 3 lines in a row'],
  [404, 1, 9, ''],
  [422, 0, 9, ''],
])(
  'to a source that answers %i to all but the first %i, %i of nine lines are sent',
  async (status, good, requests, message) => {
    const { url, seen } = await openPeer((response, nth) =>
      nth <= good ? json(response, { success: true, data: { id: nth } }, 201) : json(response, '', status),
    );
    await withDatabase(async database => {
      const to = { url, apiKey: 'key', database, resource: null, readBack: async () => undefined };
      const pushing = pushLines(to, 'leads', leadsOf(9));
      if (message)
        await expect(pushing).rejects.toMatchObject({
          kind: 'refused',
          status,
          message: expect.stringContaining(message),
        });
      else
        expect((await pushing).items.map(item => item.state)).toEqual([
          ...all(good, 'created'),
          ...all(9 - good, 'refused'),
        ]);
      expect(seen).toHaveLength(requests);
      // A push of fewer lines than that reports them line by line.
      if (status === 404 && good === 0) {
        const few = await pushLines(to, 'leads', leadsOf(2));
        expect(few.items.map(item => item.state)).toEqual(['refused', 'refused']);
      }
    });
  },
);

test.each([404, 405])(
  'a source that answers %i to a batch has created none of it: the push ends with the next step',
  async status => {
    const { url, seen } = await openPeer(response => json(response, '', status));
    await withDatabase(async database => {
      const to = { url, apiKey: 'key', database, resource: null, readBack: async () => undefined };
      await expect(pushLines(to, 'customers', customers(20))).rejects.toMatchObject({
        message: `This source accepts no batches: POST /api/v2/batch/customers is answered with ${status}.`,
        next: expect.stringContaining('--batch 1'),
      });
      expect(seen).toHaveLength(1);
      expect((await database.query('select distinct state from sluice.push_items')).rows).toEqual([
        { state: 'planned' },
      ]);
    });
  },
);

/** In front of a sandbox: batches that are `bad` are refused without a name. Tells the entries of each request. */
async function openForwarder(sandbox: Sandbox, isBad: (entries: readonly { email?: string }[]) => boolean) {
  const sizes: number[] = [];
  const peer = await openPeer(async (response, nth, { method, url, headers }) => {
    const { body = '' } = peer.seen[nth - 1] ?? {};
    const entries = JSON.parse(body).customers ?? [];
    sizes.push(entries.length);
    if (isBad(entries)) return json(response, { success: false, message: 'Validation failed' }, 422);
    const { authorization = '' } = headers;
    const answer = await fetch(sandbox.url + url, { method: method ?? '', headers: { authorization }, body });
    json(response, await answer.text(), answer.status);
  });
  return { url: peer.url, sizes };
}

test('to a source that accepts only smaller batches, two of each size that is too large are sent', async () => {
  await withSource({}, ['customers'], async ({ sandbox, push }) => {
    const { url, sizes } = await openForwarder(sandbox, entries => entries.length > 4);
    expect((await push('customers', customers(40), { batch: 16, url })).states).toEqual(all(40, 'created'));
    expect(created(sandbox)).toEqual([40, 40]);
    expect(sizes).toEqual([16, 16, 8, 8, ...Array.from({ length: 10 }, () => 4)]);
  });
});

test('invalid entries at the beginning that no message names do not reduce the batch size for the others', async () => {
  await withSource({}, ['customers'], async ({ sandbox, push }) => {
    const lines = customers(48).map((line, index) => (index < 16 ? { ...line, email: 'büro@müller.example' } : line));
    const { url, sizes } = await openForwarder(sandbox, entries => entries.some(({ email }) => email?.includes('ü')));
    const { states } = await push('customers', lines, { batch: 8, url });
    expect(states).toEqual([...all(16, 'refused'), ...all(32, 'created')]);
    expect(created(sandbox)).toEqual([32, 32]);
    // Of 8 each two; of 4 each the good ones, then the bad ones; of those 2 each two, and one by one.
    const times = (count: number, size: number) => Array.from({ length: count }, () => size);
    expect(sizes).toEqual([...times(2, 8), ...times(12, 4), ...times(2, 2), ...times(16, 0)]);
  });
});

test('a stop between requests sends nothing more, a stop during a request awaits its answer, and the next push continues', async () => {
  const stop = new AbortController();
  // The request has arrived when the sandbox begins to wait.
  const clock = {
    ...systemClock,
    sleep: async () => stop.abort(),
  };
  await withSource({ latencyMs: 1, clock }, [], async ({ sandbox, database, push }) => {
    const leads = [1, 2, 3].map(number => ({ first_name: 'Ann', last_name: `Lee ${number}` }));
    await expect(push('leads', leads, { signal: stop.signal })).rejects.toMatchObject({ kind: 'stopped' });
    const { rows } = await database.query('select state from sluice.push_items order by line');
    expect(rows.map(row => row.state)).toEqual(['created', 'planned', 'planned']);
    expect(await push('leads', leads)).toEqual({ states: all(3, 'created'), requests: 2 });
    expect([...sandbox.rows('leads')].filter(row => row.last_name?.startsWith('Lee '))).toHaveLength(3);
  });
});

describe('a source whose answers lag, and which carries out creates after their answers', () => {
  const LATE = { lagMs: MINUTE, quietMs: MINUTE };
  /** Every two values meet. */
  const combinations = (['no', 'replica', 'cache'] as const).flatMap((stale, nth) =>
    (['now', 'later'] as const).map((creates, other) => {
      const batch = (nth + other) % 2 === 0 ? ('partial' as const) : ('silent' as const);
      return { stale, creates, batch };
    }),
  );

  test.each(combinations)('$stale, creates $creates, batch $batch: each line is created once', variants =>
    withSource(
      { variants },
      ['customers'],
      async ({ sandbox, database, push }) => {
        const lines = customers(5);
        expect((await push('customers', lines)).states).toEqual(all(5, 'created'));
        expect(created(sandbox)).toEqual([5, 5]);
        const single = [...lines, { account: 'Pushed alone', phone: '1' }, { account: 'Pushed twice', city: 'Graz' }];
        sandbox.failNext('html-500', 1, 'customers');
        expect((await push('customers', single)).states).toEqual(all(7, 'created'));
        expect(created(sandbox)).toEqual([7, 7]);
        const { rows } = await database.query('select count(distinct row_key)::int as found from sluice.push_items');
        expect(rows).toEqual([{ found: 7 }]);
      },
      LATE,
    ),
  );
});

describe('ids that are issued again after a deletion', () => {
  const OPTIONS = { variants: { 'new-ids': 'reissued' } } as const;
  const newest = (sandbox: Sandbox, name: 'customers' | 'invoices') => [...sandbox.rows(name)].at(-1)?.id ?? 0;

  test('a line whose answer was lost and whose record has the id of a deleted one is found', () =>
    withSource(OPTIONS, ['customers'], async ({ sandbox, database, push }) => {
      const taken = newest(sandbox, 'customers');
      sandbox.remove('customers', taken);
      sandbox.failNext('html-500', 1, 'customers');
      expect(await push('customers', [{ account: 'Pushed', city: 'Graz' }])).toEqual({
        states: ['created'],
        requests: 1,
      });
      expect(created(sandbox)).toEqual([1, 1]);
      const { rows } = await database.query('select row_key from sluice.push_items');
      expect(rows).toEqual([{ row_key: String(taken) }]);
    }));

  test("after yesterday's backup was restored, lines whose answers were lost are found", () =>
    withSource(OPTIONS, ['customers'], async ({ sandbox, push }) => {
      for (let n = 0; n < 10; n++) sandbox.remove('customers', newest(sandbox, 'customers'));
      sandbox.failNext('html-500', 1, 'batch');
      expect((await push('customers', customers(5))).states).toEqual(all(5, 'created'));
      expect(created(sandbox)).toEqual([5, 5]);
    }));

  test('a line that is not found is not sent again where the highest id went down', () =>
    withSource(OPTIONS, ['customers'], async ({ sandbox, database, push }) => {
      const line = { account: 'Pushed', city: 'Graz' };
      sandbox.remove('customers', newest(sandbox, 'customers'));
      sandbox.failNext('drop', 1, 'customers');
      expect(await push('customers', [line])).toEqual({ states: ['unknown'], requests: 1 });
      const { rows } = await database.query('select message from sluice.push_items');
      expect(rows).toEqual([{ message: expect.stringContaining('ids of deleted records may be issued again') }]);
      expect((await push('customers', [line], { resendUnknown: true })).states).toEqual(['created']);
      expect(created(sandbox)).toEqual([1, 1]);
    }));
});

test('a row that was there before and has become equal to a lost line is reported, and the line is not sent again', () =>
  withSource({}, ['customers'], async ({ sandbox, database, push }) => {
    const line = { account: 'Pushed', city: 'Graz' };
    const [first] = sandbox.rows('customers');
    sandbox.failNext('drop', 1, 'customers');
    const onSent = () => void sandbox.update('customers', first?.id ?? 0, line);
    expect(await push('customers', [line], { onSent })).toEqual({ states: ['unknown'], requests: 1 });
    const { rows } = await database.query('select message from sluice.push_items');
    expect(rows).toEqual([{ message: `An equal row is not new, but has changed since: id ${first?.id}.` }]);
  }));

test('an edit of the newest row does not keep a lost line from being sent again', () =>
  withSource({}, ['customers'], async ({ sandbox, push }) => {
    sandbox.failNext('drop', 1, 'customers');
    let edits = 0;
    const onSent = () => void sandbox.update('customers', 1, { phone: `${edits++}` });
    const top = [...sandbox.rows('customers')].at(-1)?.id ?? 0;
    sandbox.update('customers', top, { phone: 'edited' });
    expect((await push('customers', [{ account: 'Pushed', city: 'Graz' }], { onSent })).states).toEqual(['created']);
    expect(created(sandbox)).toEqual([1, 1]);
  }));
