import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { SluiceError } from '../../src/errors.ts';
import { createLog } from '../../src/log.ts';
import { noteOnce, tellOnce, type WatchOptions, watch } from '../../src/service/incidents/incident-monitor.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import {
  claimUntold,
  type Incident,
  noteTold,
  noteTroubles,
  openIncidents,
} from '../../src/warehouse/ledgers/incidents.ts';
import { endRun, startRun } from '../../src/warehouse/ledgers/runs.ts';
import { recordSlot } from '../../src/warehouse/ledgers/slots.ts';
import { type TestDatabase, withDatabase } from '../support/database.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { servedSource, silent } from './open.ts';

interface Alert {
  readonly text: string;
  readonly attachments: { color: string; fields: { title: string; value: string }[] }[];
}

interface Given {
  readonly database: Database;
  readonly test: TestDatabase;
  readonly clock: VirtualClock;
  readonly alerts: Alert[];
  /** What the receiver of alerts answers from now on. */
  readonly answer: (status: number) => void;
  readonly look: (by?: Database, freshnessLimitMs?: number, scheduled?: readonly string[]) => Promise<void>;
  readonly run: (kind: string, state: 'done' | 'failed', error?: SluiceError, resource?: string) => Promise<void>;
}

/** Where alerts are posted to; `url` ends with a slash. */
async function openReceiver(answer: RequestListener) {
  const server = createServer(answer);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async close() {
      const closed = new Promise(resolve => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** What `watch` does of a source in one round. */
async function lookOnce(options: WatchOptions, source: WatchOptions['sources'][number]): Promise<void> {
  await noteOnce(options, source);
  await tellOnce(options, source, new AbortController().signal);
}

async function withWatch(fn: (given: Given) => Promise<void>): Promise<void> {
  const alerts: Alert[] = [];
  let status = 200;
  const receiver = await openReceiver((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    request.on('end', () => {
      if (status === 200) alerts.push(JSON.parse(text) as Alert);
      response.writeHead(status, { connection: 'close' }).end();
    });
  });
  const alertUrl = `${receiver.url}hook-secret`;
  await withDatabase(async (database, test) => {
    const clock = await createVirtualClock(database, '2026-01-15T10:00:00.000Z');
    const look: Given['look'] = (by = database, freshnessLimitMs = 60 * 60_000, scheduled) => {
      const source = servedSource(by);
      const hide = (text: string) => text.replaceAll('key-7', '[secret]');
      return lookOnce(
        { database: by, sources: [], alertUrl, freshnessLimitMs, hide, clock, log: silent },
        { ...source, scheduled: scheduled ?? source.scheduled },
      );
    };
    const run: Given['run'] = async (kind, state, error, resource = 'invoices') => {
      const id = await startRun(database.kysely, { source: 'main', resource, kind, orderId: null, slotAt: null });
      await database.query('update sluice.runs set requests = 3 where id = $1', [id]);
      await endRun(database.kysely, id, { state, reason: error?.message, next: error?.next, failure: error?.kind });
      await clock.advance(1000);
    };
    await fn({ database, test, clock, alerts, answer: code => (status = code), look, run });
  });
  await receiver.close();
}

const byText = (a: string, b: string) => (a < b ? -1 : 1);

test('a failed run is told once, by one of two processes, and once more when it is over', async () => {
  await withWatch(async ({ database, test, alerts, look, run }) => {
    const other = await test.open();
    await run('slot', 'failed', new SluiceError('failed', 'It said <!channel> & "key-7".', { next: 'Do this.' }));
    for (let time = 0; time < 3; time++) await Promise.all([look(), look(other)]);
    expect(alerts).toEqual([
      {
        text: 'Sluice: run failed (main, invoices)\nThe scheduled sync of invoices failed: It said &lt;!channel&gt; &amp; "[secret]".\nDo this.',
        attachments: [
          {
            color: 'danger',
            fields: [
              ['state', 'open'],
              ['kind', 'failed'],
              ['source', 'main'],
              ['resource', 'invoices'],
              ['since', '2026-01-15T10:00:01.000Z'],
              ['incident', '1'],
            ].map(([title, value]) => ({ title, value, short: true })),
          },
        ],
      },
    ]);
    await run('slot', 'failed', new SluiceError('failed', 'Again.'));
    await look();
    expect(alerts).toHaveLength(1);
    await run('slot', 'done');
    for (let time = 0; time < 3; time++) await Promise.all([look(), look(other)]);
    expect(alerts.map(alert => alert.text.split('\n')[0])).toEqual([
      'Sluice: run failed (main, invoices)',
      'Over: run failed (main, invoices)',
    ]);
    const { rows } = await database.query('select message from sluice.incidents');
    expect(rows).toEqual([{ message: expect.stringContaining('[secret]') as string }]);
    await other.close();
  });
});

test('a process that looked before a run failed does not end what another has opened and told since', async () => {
  await withWatch(async ({ database, test, alerts, look, run }) => {
    // Holds up the one that is called slow after it has seen the runs, until the gate opens.
    await database.query(
      `create or replace function sluice.now() returns timestamptz language plpgsql volatile as $$ begin
         if current_setting('application_name') = 'slow' then perform pg_advisory_xact_lock_shared(7); end if;
         return (select now from sluice.test_clock); end $$`,
    );
    const gate = await database.connect('gate');
    await gate.query('select pg_advisory_lock(7)');
    const waiting = async () =>
      (await gate.query(`select from pg_locks where locktype = 'advisory' and not granted`)).rows.length;
    const slow = await test.open('slow');
    const slowLook = look(slow);
    while ((await waiting()) === 0) await new Promise(resolve => setTimeout(resolve, 5));

    await run('slot', 'failed', new SluiceError('failed', 'Wrong.'));
    let looked = false;
    const nextLook = look().then(() => {
      looked = true;
    });
    while (!looked && (await waiting()) < 2) await new Promise(resolve => setTimeout(resolve, 5));
    await gate.end();
    await Promise.all([slowLook, nextLook]);
    await look();
    expect(alerts.map(alert => alert.text.split('\n')[0])).toEqual(['Sluice: run failed (main, invoices)']);
    await slow.close();
  });
});

test('a refused key, an outage and the fuse are incidents of their own kind; the first two of the whole source', async () => {
  await withWatch(async ({ alerts, look, run }) => {
    for (const resource of ['customers', 'invoices', 'transactions'])
      await run('slot', 'failed', new SluiceError('unauthorized', 'The key is refused.'), resource);
    await look();
    expect(alerts.map(alert => alert.text.split('\n')[0])).toEqual(['Sluice: API key rejected (main)']);
    await run('sync', 'done', undefined, 'transactions');
    await run('slot', 'failed', new SluiceError('unavailable', 'No answer.'), 'customers');
    await run('slot', 'failed', new SluiceError('fuse', '30 rows.'));
    await look();
    expect(
      alerts
        .slice(1)
        .map(alert => alert.text.split('\n')[0] as string)
        .sort(),
    ).toEqual([
      'Over: API key rejected (main)',
      ...['Sluice: deletions held back (main, invoices)', 'Sluice: source does not answer (main)'],
    ]);
  });
});

test('data is stale when a tick of its schedule is older than the limit and no sync has followed it', async () => {
  await withWatch(async ({ database, clock, alerts, look, run }) => {
    const tick = () => recordSlot(database.kysely, 'main', 'invoices', new Date(clock.now()));
    await run('sync', 'done');
    await clock.advance(5 * 3_600_000);
    await look();
    // Nothing was due in those hours.
    expect(alerts).toEqual([]);
    await tick();
    await clock.advance(60 * 60_000);
    await look();
    expect(alerts).toEqual([]);
    await clock.advance(1000);
    await look();
    expect(alerts.map(alert => [alert.text.split('\n')[0], alert.attachments[0]?.color])).toEqual([
      ['Sluice: data is stale (main, invoices)', 'warning'],
    ]);
    expect(alerts[0]?.text).toContain('invoices was last synced 360 minutes ago, and a sync is due for 60 minutes');
    await run('slot', 'done');
    await look();
    expect(alerts[1]?.text).toContain('Over: data is stale');
  });
});

test('of two processes with different limits the one that takes longer to call data stale does not end it before it is synced', async () => {
  await withWatch(async ({ database, clock, alerts, look, run }) => {
    const tick = () => recordSlot(database.kysely, 'main', 'invoices', new Date(clock.now()));
    const lookBoth = async () => {
      for (let time = 0; time < 2; time++) {
        await look(database, 30 * 60_000);
        await look(database, 60 * 60_000);
      }
    };
    await run('sync', 'done');
    await tick();
    await clock.advance(31 * 60_000);
    await lookBoth();
    await run('slot', 'done');
    // Due again, and not for long.
    await tick();
    await clock.advance(1000);
    await lookBoth();
    expect(alerts.map(alert => alert.text.split('\n')[0])).toEqual([
      'Sluice: data is stale (main, invoices)',
      'Over: data is stale (main, invoices)',
    ]);
  });
});

test('data that is stale stays so, told once, when a sync of it fails, and no other sort of work hides it', async () => {
  await withWatch(async ({ database, clock, alerts, look, run }) => {
    const titles = () => alerts.splice(0).map(alert => alert.text.split('\n', 1).join());
    await run('sync', 'done');
    await recordSlot(database.kysely, 'main', 'invoices', new Date(clock.now()));
    await run('backfill', 'failed', new SluiceError('failed', 'Its window is too large.'));
    await run('verify', 'failed', new SluiceError('unavailable', 'No answer.'));
    await clock.advance(61 * 60_000);
    await look();
    expect(titles().sort(byText)).toEqual([
      'Sluice: data is stale (main, invoices)',
      'Sluice: run failed (main, invoices)',
      'Sluice: source does not answer (main)',
    ]);
    await run('slot', 'failed', new SluiceError('failed', 'Again.'));
    await look();
    expect(titles()).toEqual([]);
    await run('slot', 'done');
    await look();
    // The backfill that failed is still to be repeated.
    expect(titles().sort(byText)).toEqual([
      'Over: data is stale (main, invoices)',
      'Over: source does not answer (main)',
    ]);
  });
});

test('why data grows old is told instead of its age', async () => {
  await withWatch(async ({ database, clock, alerts, look, run }) => {
    await run('sync', 'done');
    await recordSlot(database.kysely, 'main', 'invoices', new Date(clock.now()));
    await run('slot', 'failed', new SluiceError('failed', 'Wrong.'));
    await clock.advance(61 * 60_000);
    await look();
    expect(alerts.map(alert => alert.text.split('\n')[0])).toEqual(['Sluice: run failed (main, invoices)']);
  });
});

test('an outage is over when any sync ends well, whatever is not tried again, and data that goes stale after it is told', async () => {
  await withWatch(async ({ database, clock, alerts, look, run }) => {
    const titles = () => alerts.splice(0).map(alert => alert.text.split('\n', 1).join());
    await run('sync', 'failed', new SluiceError('unavailable', 'No answer.'), 'customers');
    await look();
    expect(titles()).toEqual(['Sluice: source does not answer (main)']);
    await run('slot', 'done');
    await look();
    expect(titles()).toEqual(['Over: source does not answer (main)']);
    await recordSlot(database.kysely, 'main', 'invoices', new Date(clock.now()));
    await clock.advance(61 * 60_000);
    await look();
    expect(titles()).toEqual(['Sluice: data is stale (main, invoices)']);
  });
});

test('a list that the key may not read is an incident of its own while the others are read, told once over many ticks', async () => {
  await withWatch(async ({ database, clock, alerts, look, run }) => {
    const { kysely } = database;
    for (let tick = 0; tick < 3; tick++) {
      const id = await startRun(kysely, {
        source: 'main',
        resource: 'customers',
        kind: 'slot',
        orderId: null,
        slotAt: null,
      });
      await clock.advance(1000);
      await run('slot', 'done');
      await look();
      await endRun(kysely, id, { state: 'failed', reason: 'The key is refused.', failure: 'unauthorized' });
      await look();
      await clock.advance(15 * 60_000);
      await run('slot', 'failed', new SluiceError('unauthorized', 'The key is refused.'), 'customers');
      await look();
      await run('slot', 'done');
      await look();
    }
    expect(alerts.map(alert => alert.text.split('\n')[0])).toEqual(['Sluice: API key rejected (main, customers)']);
  });
});

test('the incidents of a list that was switched off are over, and none is opened', async () => {
  await withWatch(async ({ database, clock, alerts, look, run }) => {
    const titles = () => alerts.splice(0).map(alert => alert.text.split('\n', 1).join());
    const lookWithout = () => look(database, undefined, ['invoices', 'transactions']);
    await recordSlot(database.kysely, 'main', 'customers', new Date(clock.now()));
    await clock.advance(61 * 60_000);
    await look();
    await run('slot', 'failed', new SluiceError('failed', 'Wrong.'), 'customers');
    await look();
    expect(titles()).toEqual(['Sluice: data is stale (main, customers)', 'Sluice: run failed (main, customers)']);
    await lookWithout();
    expect(titles().sort(byText)).toEqual([
      'Over: data is stale (main, customers)',
      'Over: run failed (main, customers)',
    ]);
    await run('sync', 'failed', new SluiceError('unauthorized', 'The key is refused.'), 'customers');
    await lookWithout();
    expect(titles()).toEqual([]);
  });
});

test('a receiver that fails stops nothing: it is tried again after a growing pause, and told what is still open', async () => {
  await withWatch(async ({ database, clock, alerts, answer, look, run }) => {
    answer(500);
    await run('slot', 'failed', new SluiceError('failed', 'First.'));
    for (let time = 0; time < 5; time++) await look();
    const { rows } = await database.query('select attempts from sluice.incidents');
    expect(rows).toEqual([{ attempts: 1 }]);
    answer(200);
    await look();
    expect(alerts).toEqual([]);
    await clock.advance(30_000);
    await look();
    expect(alerts).toHaveLength(1);
    await clock.advance(3_600_000);
    await look();
    expect(alerts).toHaveLength(1);
  });
});

test('why an alert could not be delivered is told, without the address', async () => {
  await withWatch(async ({ database, clock, run }) => {
    await run('slot', 'failed', new SluiceError('failed', 'Wrong.'));
    const elsewhere = await openReceiver((_request, response) => response.writeHead(302, { location: '/login' }).end());
    const alertUrl = `${elsewhere.url}hook-secret`;
    const lines: string[] = [];
    const destination = new PassThrough().on('data', chunk => lines.push(String(chunk)));
    const log = createLog({ level: 'warn', secrets: [], destination });
    const options = { database, sources: [], alertUrl, freshnessLimitMs: 60 * 60_000, hide: String, clock, log };
    await lookOnce(options, servedSource(database));
    expect(lines).toEqual([
      expect.stringContaining('ALERT_WEBHOOK_URL cannot be asked: unexpected redirect') as string,
    ]);
    expect(lines[0]).not.toContain('hook-secret');
    await elsewhere.close();
  });
});

test('of an incident that ends while its beginning is being told, the end is told by one process all the same', async () => {
  await withWatch(async ({ database: { kysely } }) => {
    await noteTroubles(kysely, 'main', [{ kind: 'failed', resource: 'invoices', message: 'Wrong.', next: null }]);
    const begun = (await claimUntold(kysely, 'main', 30)) as Incident;
    await noteTroubles(kysely, 'main', []);
    const ended = (await claimUntold(kysely, 'main', 30)) as Incident;
    expect([begun.endedAt, ended.id]).toEqual([null, begun.id]);
    await noteTold(kysely, begun);
    expect(await claimUntold(kysely, 'main', 30)).toBe(null);
    await noteTold(kysely, ended);
    expect(await claimUntold(kysely, 'main', 0)).toBe(null);
  });
});

test('an address that does not answer keeps no later trouble from being seen', async () => {
  await withWatch(async ({ database, clock, run }) => {
    await run('slot', 'failed', new SluiceError('failed', 'Wrong.'));
    const stopping = new AbortController();
    let seen = 0;
    const silentOne = await openReceiver(async (_request, response) => {
      await run('slot', 'failed', new SluiceError('failed', 'Wrong.'), 'customers');
      while (seen < 2 && !response.destroyed) {
        await new Promise(resolve => setTimeout(resolve, 5));
        seen = (await openIncidents(database.kysely, 'main')).length;
      }
      stopping.abort();
    });
    const alertUrl = silentOne.url;
    const sources = [servedSource(database)];
    await watch(
      { database, sources, alertUrl, freshnessLimitMs: 60 * 60_000, hide: String, clock, log: silent },
      stopping.signal,
    );
    expect(seen).toBe(2);
    await silentOne.close();
  });
});

test('it stops at once, however many alerts are still to be told to an address that does not answer, and the next process tells them', async () => {
  await withWatch(async ({ database, clock, alerts, look, run }) => {
    for (const resource of ['customers', 'invoices', 'transactions'])
      await run('slot', 'failed', new SluiceError('failed', 'Wrong.'), resource);
    const stopping = new AbortController();
    let asked = 0;
    const silentOne = await openReceiver(() => {
      asked++;
      stopping.abort();
    });
    const alertUrl = silentOne.url;
    const served = servedSource(database);
    const sources = [served, served];
    await watch(
      { database, sources, alertUrl, freshnessLimitMs: 60 * 60_000, hide: String, clock, log: silent },
      stopping.signal,
    );
    expect(asked).toBe(1);
    await silentOne.close();
    await clock.advance(30_000);
    await look();
    expect(alerts).toHaveLength(3);
  });
});
