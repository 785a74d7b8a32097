import { expect, test } from 'vitest';
import { SluiceError } from '../../../src/errors.ts';
import { beginDelivery, resumeDelivery } from '../../../src/warehouse/ledgers/deliveries.ts';
import { endRun, startRun } from '../../../src/warehouse/ledgers/runs.ts';
import { recordSlot } from '../../../src/warehouse/ledgers/slots.ts';

import { byText, withMonitor } from './with-monitor.ts';

test('a failed run is alerted once, by one of two processes, and once more when the incident ends', async () => {
  await withMonitor(async ({ database, test, alerts, look, run }) => {
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
      'Resolved: run failed (main, invoices)',
    ]);
    const { rows } = await database.query('select message from sluice.incidents');
    expect(rows).toEqual([{ message: expect.stringContaining('[secret]') as string }]);
    await other.close();
  });
});

test('a process that read the runs before one failed does not end the incident that another process opened since', async () => {
  await withMonitor(async ({ database, test, alerts, look, run }) => {
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

test('a rejected key, an outage and the loss limit are separate kinds of incident; the first two belong to the whole source', async () => {
  await withMonitor(async ({ alerts, look, run }) => {
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
      'Resolved: API key rejected (main)',
      ...['Sluice: loss limit reached (main, invoices)', 'Sluice: source unavailable (main)'],
    ]);
  });
});

test('data is stale when no sync has followed a tick of its schedule for longer than the limit', async () => {
  await withMonitor(async ({ database, clock, alerts, look, run }) => {
    const tick = () => recordSlot(database.kysely, 'main', 'invoices', new Date(clock.now()));
    await database.query(
      `insert into sluice.coverage (source, resource, slice, proven_at, rows, requests) values ('main', 'invoices', 'whole', sluice.now(), 1, 1)`,
    );
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
    expect(alerts[0]?.text).toContain('invoices was last synced 360 minutes ago. A sync has been due for 60 minutes');
    await run('slot', 'done');
    await look();
    expect(alerts[1]?.text).toContain('Resolved: data is stale');
  });
});

test('a process with a longer freshness limit does not end an incident that another opened before the next sync', async () => {
  await withMonitor(async ({ database, clock, alerts, look, run }) => {
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
      'Resolved: data is stale (main, invoices)',
    ]);
  });
});

test('stale data is alerted once, stays stale when its sync fails, and no failed backfill or verification hides it', async () => {
  await withMonitor(async ({ database, clock, alerts, look, run }) => {
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
      'Sluice: source unavailable (main)',
    ]);
    await run('slot', 'failed', new SluiceError('failed', 'Again.'));
    await look();
    expect(titles()).toEqual([]);
    await run('slot', 'done');
    await look();
    // The backfill that failed is still to be repeated.
    expect(titles().sort(byText)).toEqual([
      'Resolved: data is stale (main, invoices)',
      'Resolved: source unavailable (main)',
    ]);
  });
});

test('a failed sync is alerted instead of the stale data that it explains', async () => {
  await withMonitor(async ({ database, clock, alerts, look, run }) => {
    await run('sync', 'done');
    await recordSlot(database.kysely, 'main', 'invoices', new Date(clock.now()));
    await run('slot', 'failed', new SluiceError('failed', 'Wrong.'));
    await clock.advance(61 * 60_000);
    await look();
    expect(alerts.map(alert => alert.text.split('\n')[0])).toEqual(['Sluice: run failed (main, invoices)']);
  });
});

test('an outage ends with any successful sync, and data that goes stale afterwards is alerted', async () => {
  await withMonitor(async ({ database, clock, alerts, look, run }) => {
    const titles = () => alerts.splice(0).map(alert => alert.text.split('\n', 1).join());
    await run('sync', 'failed', new SluiceError('unavailable', 'No answer.'), 'customers');
    await look();
    expect(titles()).toEqual(['Sluice: source unavailable (main)']);
    await run('slot', 'done');
    await look();
    expect(titles()).toEqual(['Resolved: source unavailable (main)']);
    await recordSlot(database.kysely, 'main', 'invoices', new Date(clock.now()));
    await clock.advance(61 * 60_000);
    await look();
    expect(titles()).toEqual(['Sluice: data is stale (main, invoices)']);
  });
});

test('a list that the key may not read is an incident of its own while others sync, alerted once over many ticks', async () => {
  await withMonitor(async ({ database, clock, alerts, look, run }) => {
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

test('switching off a list ends its incidents and opens no new ones', async () => {
  await withMonitor(async ({ database, clock, alerts, look, run }) => {
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
      'Resolved: data is stale (main, customers)',
      'Resolved: run failed (main, customers)',
    ]);
    await run('sync', 'failed', new SluiceError('unauthorized', 'The key is refused.'), 'customers');
    await lookWithout();
    expect(titles()).toEqual([]);
  });
});

test('a receiver that is paused is an incident until it is resumed, apart from those of other receivers', async () => {
  await withMonitor(async ({ database: { kysely }, alerts, look }) => {
    for (const name of ['crm', 'team']) {
      await beginDelivery(kysely, { source: 'main', name }, { schema: 'warehouse', next: 1 });
      await kysely
        .updateTable('sluice.deliveries')
        .set({ paused_at: '2026-01-15T10:00:00Z', reason: 'it answered HTTP 500' })
        .where('name', '=', name)
        .execute();
      await look();
    }
    await resumeDelivery(kysely, { source: 'main', name: 'crm' });
    await look();
    const [first, ...others] = alerts.map(({ text }) => text);
    expect(first).toBe(
      'Sluice: changes are not delivered (main, crm)\nChanges are no longer delivered to the receiver crm: it answered HTTP 500.\nOnce it is in order: sluice notify resume crm, or to give it up: sluice notify remove crm',
    );
    expect(others.map(text => text.split('\n')[0])).toEqual([
      'Sluice: changes are not delivered (main, team)',
      'Resolved: changes are not delivered (main, crm)',
    ]);
  });
});
