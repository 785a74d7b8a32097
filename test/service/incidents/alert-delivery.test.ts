import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { SluiceError } from '../../../src/errors.ts';
import { createLog } from '../../../src/log.ts';
import { monitorIncidents } from '../../../src/service/incidents/incident-monitor.ts';
import {
  claimUntold,
  type Incident,
  noteTold,
  noteTroubles,
  openIncidents,
} from '../../../src/warehouse/ledgers/incidents.ts';
import { servedSource, silent } from '../with-service.ts';

import { lookOnce, openReceiver, withMonitor } from './with-monitor.ts';

test('an alert that is not accepted is retried after a growing pause', async () => {
  await withMonitor(async ({ database, clock, alerts, answer, look, run }) => {
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

test('an alert does not wait longer because the clock was put back', async () => {
  await withMonitor(async ({ database: { kysely }, clock }) => {
    await noteTroubles(kysely, 'main', [{ kind: 'failed', resource: 'invoices', message: 'Wrong.', next: null }]);
    expect(await claimUntold(kysely, 'main', 30)).not.toBe(null);
    expect(await claimUntold(kysely, 'main', 30)).toBe(null);
    await clock.putBack(24 * 3_600_000);
    expect(await claimUntold(kysely, 'main', 30)).not.toBe(null);
    expect(await claimUntold(kysely, 'main', 30)).toBe(null);
  });
});

test('the log says why an alert could not be delivered, without the address', async () => {
  await withMonitor(async ({ database, clock, run }) => {
    await run('slot', 'failed', new SluiceError('failed', 'Wrong.'));
    const elsewhere = await openReceiver((_request, response) => response.writeHead(302, { location: '/login' }).end());
    const alertUrl = `${elsewhere.url}hook-secret`;
    const lines: string[] = [];
    const destination = new PassThrough().on('data', chunk => lines.push(String(chunk)));
    const log = createLog({ level: 'warn', destination });
    const options = { database, sources: [], alertUrl, freshnessLimitMs: 60 * 60_000, hide: String, clock, log };
    await lookOnce(options, servedSource(database));
    expect(lines).toEqual([
      expect.stringContaining('ALERT_WEBHOOK_URL: it answered HTTP 302, a redirect, which is not followed') as string,
    ]);
    expect(lines[0]).not.toContain('hook-secret');
    await elsewhere.close();
  });
});

test('the end of an incident is alerted by one process even when it ends while its beginning is being delivered', async () => {
  await withMonitor(async ({ database: { kysely } }) => {
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

test('an alert address that does not answer does not delay the detection of later troubles', async () => {
  await withMonitor(async ({ database, clock, run }) => {
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
    await monitorIncidents(
      { database, sources, alertUrl, freshnessLimitMs: 60 * 60_000, hide: String, clock, log: silent },
      stopping.signal,
    );
    expect(seen).toBe(2);
    await silentOne.close();
  });
});

test('the monitor stops at once while an alert address does not answer, and the next process sends the remaining alerts', async () => {
  await withMonitor(async ({ database, clock, alerts, look, run }) => {
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
    await monitorIncidents(
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
