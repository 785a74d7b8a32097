import { PassThrough } from 'node:stream';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { SluiceError } from '../../../src/errors.ts';
import { createLog } from '../../../src/log.ts';
import { deliverNext } from '../../../src/service/notify/deliver-next.ts';
import { beginDelivery, resumeDelivery } from '../../../src/warehouse/ledgers/deliveries.ts';
import { withDatabase } from '../../support/database.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import {
  accept,
  deliverAll,
  logChanges,
  numbersIn,
  optionsOf,
  progressOf,
  receiverAt,
  SECRET,
  withReceiver,
} from './with-receiver.ts';

const upTo = (last: number, from = 1) => Array.from({ length: last - from + 1 }, (_, index) => from + index);
const never = new AbortController().signal;

test('all changes arrive in order, in signed messages that the own verifier of Standard Webhooks accepts', async () => {
  await withDatabase(async database => {
    await logChanges(database, 1, 250);
    await withReceiver(accept, async ({ url, got }) => {
      await deliverAll(optionsOf(database), receiverAt(url));
      expect(got.flatMap(numbersIn)).toEqual(upTo(250));
      expect(got.map(({ headers }) => headers['webhook-id'])).toEqual([
        'main.crm.1-100',
        'main.crm.101-200',
        'main.crm.201-250',
      ]);
      for (const { headers, body } of got)
        expect(new Webhook(SECRET).verify(body, headers as Record<string, string>)).toMatchObject({
          type: 'changes',
          source: 'main',
        });
      const [{ headers, body }] = got as [(typeof got)[number]];
      expect(() => new Webhook(SECRET).verify(`${body} `, headers as Record<string, string>)).toThrow();
      expect(await progressOf(database)).toMatchObject({ next: 251, attempts: 0, paused: false });
    });
  });
});

test('a receiver gets what it wants, and what nobody wants is passed over', async () => {
  await withDatabase(async database => {
    await logChanges(database, 1, 2500);
    await withReceiver(accept, async ({ url, got }) => {
      const wanted = { on: ['customers.inserted', 'invoices.*'], where: 'key::int > 2000 -- some' };
      await deliverAll(optionsOf(database), receiverAt(url, wanted));
      expect(got.flatMap(numbersIn)).toEqual(upTo(2500).filter(number => number > 2000 && number % 3 === 0));
      expect(await progressOf(database)).toMatchObject({ next: 2501 });
    });
  });
});

test.each(['teams', 'slack'] as const)('what a chat shows in escapes is counted as %s gets it', async form => {
  await withDatabase(async database => {
    await logChanges(database, 1, 20);
    await database.query(`update warehouse.change_log set kind = 'updated'`);
    await database.query(
      'insert into warehouse.customers (id, _synced_at, _read_at) select key::int, now(), now() from warehouse.change_log',
    );
    // Invisible characters, in so many fields as a line shows.
    const fields = ['account', 'email', 'phone', 'address', 'city', 'state', 'zip', 'country'];
    await database.query(
      `insert into warehouse.row_history (resource, key, row, valid_from, valid_to, ended_by, number)
       select 'customers', key, cast($1 as jsonb) || jsonb_build_object('id', key::int), '-infinity', seen_at, 'changed', number
       from warehouse.change_log`,
      [JSON.stringify(Object.fromEntries(fields.map(field => [field, '\u00ad'.repeat(39)])))],
    );
    await withReceiver(accept, async ({ url, got }) => {
      await deliverAll(optionsOf(database), receiverAt(url, { form, secret: undefined }));
      expect(await progressOf(database)).toMatchObject({ next: 21, attempts: 0, reason: null });
      expect(got.map(({ body }) => Buffer.byteLength(body)).every(bytes => bytes > 3000 && bytes < 28_000)).toBe(true);
    });
  });
});

test('a change that is larger than a message is sent alone, and those after it too', async () => {
  await withDatabase(async database => {
    await logChanges(database, 1, 9);
    await database.query(
      `insert into warehouse.row_history (resource, key, row, valid_from, valid_to, ended_by, number)
       select 'customers', key, jsonb_build_object('id', key::int, 'notes', repeat('x', 300 * 1024)), '-infinity', seen_at, 'deleted', number
       from warehouse.change_log where number in (4, 7, 8)`,
    );
    await withReceiver(accept, async ({ url, got }) => {
      await deliverAll(optionsOf(database), receiverAt(url));
      expect(got.map(numbersIn)).toEqual([upTo(3), [4], [5, 6], [7], [8], [9]]);
    });
  });
});

test('a process whose turn is over sends nothing', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    await logChanges(database, 1, 3);
    await withReceiver(accept, async ({ url, got }) => {
      const receiver = receiverAt(url);
      await beginDelivery(database.kysely, receiver, { schema: 'warehouse', next: 1 });
      // It waits for the login that may only read until after its turn.
      const openReader = async () => {
        await clock.advance(61_000);
        return database;
      };
      await deliverNext(optionsOf(database, { openReader }), receiver, 'warehouse', never);
      expect(got).toEqual([]);
      await deliverNext(optionsOf(database), receiver, 'warehouse', never);
      expect(got.map(numbersIn)).toEqual([upTo(3)]);
    });
  });
});

test('a receiver does not wait for times that a wrong clock has set', async () => {
  await withDatabase(async database => {
    await createVirtualClock(database);
    await logChanges(database, 1, 3);
    await withReceiver(accept, async ({ url, got }) => {
      const receiver = receiverAt(url);
      await beginDelivery(database.kysely, receiver, { schema: 'warehouse', next: 1 });
      await database.query(
        `update sluice.deliveries set retry_at = sluice.now() + interval '30 days', locked_until = sluice.now() + interval '30 days'`,
      );
      await deliverAll(optionsOf(database), receiver);
      expect(got.map(numbersIn)).toEqual([upTo(3)]);
    });
  });
});

test('a chat gets lines, at most twenty in a message', async () => {
  await withDatabase(async database => {
    await logChanges(database, 1, 25);
    await withReceiver(accept, async ({ url, got }) => {
      await deliverAll(optionsOf(database), receiverAt(url, { form: 'slack', secret: undefined }));
      const lines = got.map(({ body }) => (JSON.parse(body) as { text: string }).text.split('\n'));
      expect(lines.map(each => each.slice(0, 2))).toEqual([
        ['main: 20 changes', 'customers 1 deleted'],
        ['main: 5 changes', 'customers 21 inserted'],
      ]);
      expect(lines.map(({ length }) => length)).toEqual([21, 6]);
      expect(got[0]?.headers).toMatchObject({ 'webhook-id': 'main.crm.1-20' });
      expect(got[0]?.headers).not.toHaveProperty('webhook-signature');
    });
  });
});

test('a condition that closes our parentheses reaches no other changes', async () => {
  await withDatabase(async database => {
    await logChanges(database, 1, 9);
    await withReceiver(accept, async ({ url, got }) => {
      await deliverAll(optionsOf(database), receiverAt(url, { where: 'true)) or ((true' }), 5);
      expect(got.map(numbersIn)).toEqual([upTo(9, 5)]);
    });
  });
});

test('a receiver that fails half of the time gets everything, in order but for what is sent again with the same id', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    await logChanges(database, 1, 1000);
    let turn = 0;
    // Of the failures, every other one has accepted the message.
    const kept: number[] = [];
    const ids = new Map<string, string>();
    await withReceiver(
      (got, response) => {
        turn++;
        const id = String(got.headers['webhook-id']);
        expect(ids.get(id) ?? got.body).toBe(got.body);
        ids.set(id, got.body);
        if (turn % 4 !== 1) kept.push(...numbersIn(got));
        response.writeHead(turn % 2 === 1 ? 503 : 200).end();
      },
      async ({ url }) => {
        const receiver = receiverAt(url);
        for (let attempt = 0; attempt < 25; attempt++) {
          await deliverAll(optionsOf(database), receiver);
          // Changes that come meanwhile are none of the message that is sent again.
          await logChanges(database, 1001 + attempt, 1001 + attempt);
          await clock.advance(3_600_000 / 100);
        }
        const first = kept.filter((number, at) => kept.indexOf(number) === at);
        expect(first).toEqual(upTo(first.length));
        expect(first.length).toBeGreaterThanOrEqual(1000);
        expect(kept.length).toBeGreaterThan(first.length);
      },
    );
  });
});

test('a receiver is served by one of many processes at a time', async () => {
  await withDatabase(async database => {
    await logChanges(database, 1, 1000);
    let open = 0;
    let most = 0;
    await withReceiver(
      async (_got, response) => {
        most = Math.max(most, ++open);
        await new Promise(resolve => setTimeout(resolve, 5));
        open--;
        response.end();
      },
      async ({ url, got }) => {
        const receiver = receiverAt(url);
        await beginDelivery(database.kysely, receiver, { schema: 'warehouse', next: 1 });
        const work = async () => {
          while (got.flatMap(numbersIn).length < 1000)
            await deliverNext(optionsOf(database), receiver, 'warehouse', never);
        };
        await Promise.all([work(), work(), work()]);
        expect([most, got.flatMap(numbersIn)]).toEqual([1, upTo(1000)]);
      },
    );
  });
});

test('a message whose delivery was not recorded is sent again with the same id and content, whatever has come since', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    await logChanges(database, 1, 3);
    await withReceiver(accept, async ({ url, got }) => {
      const receiver = receiverAt(url);
      // As a kill between the answer and the commit leaves it.
      await database.query(
        `create function sluice.refuse() returns trigger language plpgsql as $$ begin raise 'no commit' using errcode = '53100'; end $$`,
      );
      await database.query(
        `create trigger refuse before update on sluice.deliveries for each row when (old.next <> new.next) execute function sluice.refuse()`,
      );
      await expect(deliverAll(optionsOf(database), receiver)).rejects.toThrow();
      await database.query('drop trigger refuse on sluice.deliveries');
      await logChanges(database, 4, 9);
      await deliverAll(optionsOf(database), receiver);
      expect(got).toHaveLength(1);
      await clock.advance(61_000);
      await deliverAll(optionsOf(database), receiver);
      expect(got.map(({ headers }) => headers['webhook-id'])).toEqual(['main.crm.1-3', 'main.crm.1-3', 'main.crm.4-9']);
      expect(got[1]?.body).toBe(got[0]?.body);
    });
  });
});

test('deliveries are retried at growing intervals, at least as late as the receiver asks, and pause after a day', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    await logChanges(database, 1, 5);
    let isDown = true;
    await withReceiver(
      (_got, response) => response.writeHead(isDown ? 429 : 200, { 'retry-after': '600' }).end('whatever'),
      async ({ url, got }) => {
        const receiver = receiverAt(url);
        const attempt = () => deliverAll(optionsOf(database), receiver);
        await attempt();
        await clock.advance(599_000);
        await attempt();
        expect(got).toHaveLength(1);
        await clock.advance(1000);
        await attempt();
        expect(got).toHaveLength(2);
        for (let hour = 0; hour < 25; hour++) {
          await clock.advance(3_600_000);
          await attempt();
        }
        expect(await progressOf(database)).toMatchObject({ next: 1, reason: 'it answered HTTP 429', paused: true });
        const before = got.length;
        isDown = false;
        await clock.advance(3_600_000);
        await attempt();
        expect(got).toHaveLength(before);
        await resumeDelivery(database.kysely, receiver);
        await attempt();
        expect(numbersIn(got.at(-1) as (typeof got)[number])).toEqual(upTo(5));
        expect(await progressOf(database)).toMatchObject({ next: 6, attempts: 0, reason: null, paused: false });
      },
    );
  });
});

test('a receiver is sent everything again from any number that is kept', async () => {
  await withDatabase(async database => {
    await logChanges(database, 1, 20);
    await withReceiver(accept, async ({ url, got }) => {
      const receiver = receiverAt(url);
      await deliverAll(optionsOf(database), receiver);
      await resumeDelivery(database.kysely, receiver, 7);
      await deliverAll(optionsOf(database), receiver);
      expect(got.map(numbersIn)).toEqual([upTo(20), upTo(20, 7)]);
    });
  });
});

test('a receiver that was away for longer than changes are kept is paused, with the reason', async () => {
  await withDatabase(async database => {
    await logChanges(database, 1, 20);
    await database.query('delete from warehouse.change_log where number < 11');
    await database.query('update sluice.change_numbers set first = 11');
    await withReceiver(accept, async ({ url, got }) => {
      await deliverAll(optionsOf(database), receiverAt(url), 3);
      expect(got).toEqual([]);
      expect(await progressOf(database)).toMatchObject({
        next: 3,
        paused: true,
        reason: 'Changes before 11 are no longer kept.',
      });
    });
  });
});

test('changes that are forgotten while a receiver has its turn pause it; they are not passed over', async () => {
  await withDatabase(async database => {
    await logChanges(database, 1, 20);
    const openReader = async () => {
      await database.query('delete from warehouse.change_log where number < 11');
      await database.query('update sluice.change_numbers set first = 11');
      return database;
    };
    await withReceiver(accept, async ({ url, got }) => {
      await deliverAll(optionsOf(database, { openReader }), receiverAt(url), 3);
      expect(got).toEqual([]);
      expect(await progressOf(database)).toMatchObject({ next: 3, paused: true });
    });
  });
});

test('a login for queries that cannot be used is a failure of the receivers that need it', async () => {
  await withDatabase(async database => {
    await withDatabase(async other => {
      await logChanges(database, 1, 3);
      await other.query('drop table sluice.change_numbers');
      const away = new SluiceError('database', 'The database at replica/sluice: password authentication failed.');
      await withReceiver(accept, async ({ url, got }) => {
        const refused = optionsOf(database, { openReader: () => Promise.reject(away) });
        await deliverAll(refused, receiverAt(url, { where: 'true' }));
        expect(await progressOf(database)).toMatchObject({ attempts: 1, reason: away.message });
        await deliverAll(refused, receiverAt(url, { name: 'other' }));
        expect(got.flatMap(numbersIn)).toEqual([1, 2, 3]);
        await deliverAll(optionsOf(database, { openReader: async () => other }), receiverAt(url, { name: 'third' }));
        const { rows } = await database.query(
          `select attempts, next::int, reason from sluice.deliveries where name = 'third'`,
        );
        const reason = 'relation "sluice.change_numbers" does not exist';
        expect(rows).toEqual([{ attempts: 1, next: 1, reason }]);
      });
    });
  });
});

test('a login for queries whose connections are all busy is no failure of a receiver', async () => {
  await withDatabase(async (database, own) => {
    const clock = await createVirtualClock(database);
    await logChanges(database, 1, 3);
    const reader = await own.open('reader');
    reader.pool.options.connectionTimeoutMillis = 50;
    const options = optionsOf(database, { openReader: async () => reader });
    await withReceiver(accept, async ({ url, got }) => {
      const held = await reader.pool.connect();
      const receiver = receiverAt(url, { where: 'true' });
      await expect(deliverAll(options, receiver)).rejects.toMatchObject({ kind: 'database' });
      expect(await progressOf(database)).toMatchObject({ next: 1, attempts: 0, reason: null, paused: false });
      held.release();
      await clock.advance(61_000);
      await deliverAll(options, receiver);
      expect(got.flatMap(numbersIn)).toEqual([1, 2, 3]);
    });
    await reader.close();
  });
});

test.concurrent.each([
  ['is no SQL', 'status ==', 'Postgres refused the query'],
  ['lifts the read-only transaction', "set_config('transaction_read_only', 'off', true) is null", 'read-write mode'],
  ['writes', "nextval('sluice.runs_id_seq') > 0", 'A query is read-only; nothing was changed.'],
  ['sleeps', 'pg_sleep(60) is null', 'The query was stopped after 10 seconds.'],
])(
  'a condition that %s is a failure that is reported, and changes nothing',
  { timeout: 40_000 },
  async (_name, where, reason) => {
    await withDatabase(async (database, own) => {
      await logChanges(database, 1, 3);
      await withReceiver(accept, async ({ url, got }) => {
        await database.query('grant usage on schema warehouse, sluice to public');
        await database.query('grant select on all tables in schema warehouse, sluice to public');
        const reader = await own.open('reader');
        await deliverAll(optionsOf(database, { openReader: async () => reader }), receiverAt(url, { where }));
        await reader.close();
        expect(got).toEqual([]);
        const progress = await progressOf(database);
        expect(progress).toMatchObject({ next: 1, attempts: 1, paused: false });
        expect(String(progress.reason)).toMatch(reason);
      });
    });
  },
);

test.concurrent('without a login that may only read, or with one that may do more, a condition is not run', async () => {
  const refused = new SluiceError('configuration', 'Another login is needed: sluice grant');
  for (const openReader of [async () => null, () => Promise.reject(refused)])
    await withDatabase(async database => {
      await logChanges(database, 1, 3);
      await withReceiver(accept, async ({ url, got }) => {
        const options = optionsOf(database, { openReader });
        await deliverAll(options, receiverAt(url, { where: 'true' }));
        expect(await progressOf(database)).toMatchObject({ reason: expect.stringContaining('sluice grant') });
        await deliverAll(options, receiverAt(url, { name: 'other' }));
        expect(got.flatMap(numbersIn)).toEqual([1, 2, 3]);
      });
    });
});

test.concurrent('a replica that lags behind makes a receiver wait, and loses nothing', async () => {
  await withDatabase(async database => {
    await withDatabase(async replica => {
      await logChanges(database, 1, 5);
      await logChanges(replica, 1, 2);
      await withReceiver(accept, async ({ url, got }) => {
        const options = optionsOf(database, { openReader: async () => replica });
        await deliverAll(options, receiverAt(url));
        expect(got.map(numbersIn)).toEqual([[1, 2]]);
        await logChanges(replica, 3, 5);
        await deliverAll(options, receiverAt(url));
        expect(got.map(numbersIn)).toEqual([
          [1, 2],
          [3, 4, 5],
        ]);
      });
    });
  });
});

test.concurrent('neither the log nor the table names the address or the secret of a receiver', async () => {
  await withDatabase(async database => {
    await createVirtualClock(database);
    await logChanges(database, 1, 3);
    const lines: string[] = [];
    const destination = new PassThrough().on('data', chunk => lines.push(String(chunk)));
    const log = createLog({ level: 'trace', destination });
    const urls: string[] = ['http://127.0.0.1:1/hook-secret-path-7', 'https://127.0.0.1:1/hook-secret-path-7'];
    await withReceiver(
      ({ headers }, response) => response.writeHead(500).end(`${headers.host}/hook-secret-path-7 ${SECRET}`),
      async ({ url }) => {
        for (const each of [url, ...urls])
          await deliverAll(optionsOf(database, { log }), receiverAt(each, { name: `at-${lines.length}` }));
      },
    );
    expect(lines.length).toBeGreaterThanOrEqual(3);
    const { rows } = await database.query('select * from sluice.deliveries');
    expect(rows).toHaveLength(3);
    for (const text of [lines.join(''), JSON.stringify(rows)]) {
      expect(text).not.toContain('hook-secret');
      expect(text).not.toContain(SECRET.slice(6, 20));
    }
  });
});
