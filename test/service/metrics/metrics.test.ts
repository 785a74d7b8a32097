import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { composeAlert } from '../../../src/service/incidents/incident-monitor.ts';
import { METRICS } from '../../../src/service/metrics/metrics.ts';
import { INCIDENT_KINDS } from '../../../src/service/status/incident-words.ts';
import { acquireSourceLock } from '../../../src/warehouse/database/source-lock.ts';
import { beginDelivery } from '../../../src/warehouse/ledgers/deliveries.ts';
import { noteTroubles } from '../../../src/warehouse/ledgers/incidents.ts';
import { createOrder } from '../../../src/warehouse/ledgers/orders.ts';
import { endRun, setRunWaiting, startRun } from '../../../src/warehouse/ledgers/runs.ts';
import { recordSlot } from '../../../src/warehouse/ledgers/slots.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { ask, servedSource, withService } from '../with-service.ts';

const read = (name: string) => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8');

test('after a sync every metric is exported, labelled by source and resource, without secrets', async () => {
  const sandbox = await openSandbox({ rateLimit: 0 });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox);
    sandbox.update('invoices', [...sandbox.rows('invoices')][0]?.id as number, { amount: 'a lot' });
    await serveOrders(engine, 'sync');
    await beginDelivery(database.kysely, { source: 'main', name: 'crm' }, { schema: 'warehouse' });
    // The change of one customer has arrived after 90 seconds.
    await database.query(
      "update warehouse.customers set _synced_at = now() + interval '90 s', updated_at = now() where id = (select min(id) from warehouse.customers)",
    );
    await createOrder(database.kysely, { source: 'main', resource: 'invoices', kind: 'backfill' });
    await recordSlot(database.kysely, 'main', 'customers', new Date(Date.now() + 1000));
    await noteTroubles(database.kysely, 'main', [{ kind: 'fuse', resource: 'invoices', message: 'x', next: null }]);
    await withService(database, { sources: [servedSource(database, sandbox.apiKey)] }, async ({ url }) => {
      const { headers, text } = await ask(`${url}/metrics`);
      expect(headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
      for (const line of [
        'sluice_rows{source="main",resource="customers"} 150',
        'sluice_rows{source="main",resource="invoices"} 599',
        'sluice_missing_rows{source="main",resource="invoices"} 0',
        'sluice_quarantined_records{source="main",resource="invoices"} 1',
        'sluice_requests_limit{source="main"} 1000',
        'sluice_runs_in_a_day{source="main",resource="customers",kind="sync",outcome="done"} 1',
        'sluice_runs_under_way{source="main",state="running"} 0',
        'sluice_changes_in_a_day{source="main",resource="customers",change="inserted"} 150',
        'sluice_slices{source="main",resource="customers",state="never_read"} 0',
        'sluice_incidents_open{source="main",kind="fuse"} 1',
        'sluice_measured_delay_seconds{source="main",resource="customers"} 90',
        ...INCIDENT_KINDS.filter(kind => kind !== 'fuse').map(
          kind => `sluice_incidents_open{source="main",kind="${kind}"} 0`,
        ),
      ])
        expect(text.split('\n')).toContain(line);
      for (const resource of ['customers', 'invoices', 'transactions']) {
        const [mean = 0, most = 0] = ['mean', '0.95'].map(quantile =>
          Number(
            text
              .split(`sluice_expected_delay_seconds{source="main",resource="${resource}",quantile="${quantile}"} `)[1]
              ?.split('\n')[0],
          ),
        );
        expect(mean).toBeGreaterThan(0);
        expect(most).toBeGreaterThan(mean);
      }
      expect(text).not.toContain('sluice_measured_delay_seconds{source="main",resource="invoices"}');
      const left = /^sluice_requests_left\{source="main"\} (\d+)$/m.exec(text)?.[1];
      expect(Number(left)).toBe(1000 - sandbox.stats.total);
      expect(text).toMatch(
        /^sluice_order_slices\{source="main",order="\d+",kind="backfill",resource="invoices",state="left"\} [1-9]/m,
      );
      for (const [name, [, ...labels]] of Object.entries(METRICS)) {
        expect(text).toContain(`# TYPE ${name} `);
        if (name === 'sluice_waiting_seconds') continue;
        expect(text).toMatch(new RegExp(`^${name}\\{${labels.map(label => `${label}="[^"]*"`).join(',')}\\} `, 'm'));
      }
      expect(text).not.toContain(sandbox.apiKey);
    });
    await engine.close();
  });
  await sandbox.close();
});

test('sluice_waiting_seconds is present only while a run waits for the request limit', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const place = { source: 'main', resource: 'invoices', orderId: null, slotAt: null };
    const waits = [900, 300];
    const runs: string[] = [];
    for (const [index, seconds] of waits.entries()) {
      const id = await startRun(database.kysely, { ...place, kind: index === 0 ? 'backfill' : 'slot' });
      await setRunWaiting(database.kysely, [id], seconds * 1000);
      runs.push(id);
    }
    await withService(database, {}, async ({ url }) => {
      const waiting = async () => /^sluice_waiting_seconds\S* .*$/m.exec((await ask(`${url}/metrics`)).text)?.[0];
      expect(await waiting()).toBe('sluice_waiting_seconds{source="main"} 300');
      // It is about to go on, and nobody has yet.
      await clock.advance(400_000);
      expect(await waiting()).toBe('sluice_waiting_seconds{source="main"} 0');
      for (const id of runs) await endRun(database.kysely, id, { state: 'done' });
      expect(await waiting()).toBeUndefined();
    });
  });
});

test('sluice_rows is the count of the table, also of rows that a slice brought after it was last proven', async () => {
  const sandbox = await openSandbox({ rateLimit: 0 });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { resources: ['customers', 'invoices'] });
    await serveOrders(engine, 'sync');
    await withService(database, { sources: [servedSource(database, sandbox.apiKey)] }, async ({ url }) => {
      const rowsOf = async (resource: string) =>
        new RegExp(`^sluice_rows\\{source="main",resource="${resource}"\\} (\\d+)$`, 'm').exec(
          (await ask(`${url}/metrics`)).text,
        )?.[1];
      expect(await rowsOf('customers')).toBe('150');
      expect(await rowsOf('transactions')).toBe('0');
      // As a commit does that brings rows and proves nothing.
      await database.query('delete from warehouse.customers where id in (select id from warehouse.customers limit 7)');
      await database.query(`update sluice.cursors set version = version + 1 where resource = 'customers'`);
      expect(await rowsOf('customers')).toBe('143');
    });
    await engine.close();
  });
  await sandbox.close();
});

test('a run whose process died is not under way', async () => {
  await withDatabase(async database => {
    const place = { source: 'main', resource: 'invoices', orderId: null, slotAt: null };
    await startRun(database.kysely, { ...place, kind: 'slot' });
    await withService(database, {}, async ({ url }) => {
      const running = async () =>
        /^sluice_runs_under_way\{.*"running"\} (\d+)$/m.exec((await ask(`${url}/metrics`)).text)?.[1];
      expect(await running()).toBe('0');
      const lock = await acquireSourceLock(database, 'main');
      expect(await running()).toBe('1');
      await lock?.release();
    });
  });
});

test('a source whose schema is gone takes only its own metrics with it', async () => {
  await withDatabase(async database => {
    const main = servedSource(database);
    const sources = [main, { ...main, name: 'vienna', schema: 'gone' }];
    await withService(database, { sources }, async ({ url }) => {
      const { status, text } = await ask(`${url}/metrics`);
      expect(status).toBe(200);
      for (const line of [
        'sluice_source_readable{source="main"} 1',
        'sluice_source_readable{source="vienna"} 0',
        'sluice_rows{source="main",resource="invoices"} 0',
      ])
        expect(text.split('\n')).toContain(line);
      expect(text.match(/source="vienna"/g)).toHaveLength(1);
    });
  });
});

test('a list that is switched off is never overdue', async () => {
  await withDatabase(async database => {
    for (const resource of ['customers', 'invoices'])
      await recordSlot(database.kysely, 'main', resource, new Date(Date.now() - 60_000));
    const sources = [{ ...servedSource(database), scheduled: ['invoices'] }];
    await withService(database, { sources }, async ({ url }) => {
      const { text } = await ask(`${url}/metrics`);
      expect(text).toMatch(/^sluice_overdue_seconds\{source="main",resource="customers"\} 0$/m);
      expect(text).toMatch(/^sluice_overdue_seconds\{source="main",resource="invoices"\} [1-9]/m);
    });
  });
});

test('docs/metrics.md lists every metric with its labels; all but the counter have the label source', () => {
  const text = read('metrics.md');
  const rows = Object.entries(METRICS).map(([name, [help, ...labels]]) => [
    `\`${name}\``,
    labels
      .filter(label => label !== 'source')
      .map(label => `\`${label}\``)
      .join(' '),
    help,
  ]);
  for (const [name, labels, help] of rows)
    expect(text.split('\n').map(line => line.split('|').map(cell => cell.trim()))).toContainEqual([
      '',
      name,
      labels,
      help,
      '',
    ]);
  for (const [name, [, ...labels]] of Object.entries(METRICS))
    expect((labels as string[]).includes('source'), name).toBe(name !== 'sluice_webhooks_received_total');
  const named = [...text.matchAll(/`(sluice_\w+)/g)].map(match => match[1] as string);
  expect(named.filter(name => !(name in METRICS))).toEqual([]);
});

test('docs/operations.md shows an alert as sent', () => {
  const shown = JSON.parse(/```json\n([\s\S]*?)```/.exec(read('operations.md'))?.[1] ?? 'null') as object;
  const incident = {
    id: '3',
    source: 'main',
    resource: 'invoices',
    kind: 'fuse',
    message:
      'The scheduled sync of invoices failed: The source no longer shows 90 rows of invoices; with 0 deleted in the last 24 hours that is more than the 60 a day allows, so none of them was deleted.',
    next: 'If they are really gone: sluice sync invoices --accept-deletes 90',
    openedAt: '2026-01-15 10:00:00+00',
    endedAt: null,
  } as const;
  expect(shown).toEqual(composeAlert(incident, each => each));
});
