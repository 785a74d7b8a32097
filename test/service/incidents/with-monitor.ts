import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DAY, systemClock } from '../../../src/clock.ts';
import type { SluiceError } from '../../../src/errors.ts';
import { type MonitorOptions, recordIncidents, sendAlerts } from '../../../src/service/incidents/incident-monitor.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { endRun, startRun } from '../../../src/warehouse/ledgers/runs.ts';
import { type TestDatabase, withDatabase } from '../../support/database.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';
import { servedSource, silent } from '../with-service.ts';

interface Alert {
  readonly text: string;
  readonly attachments: { color: string; fields: { title: string; value: string }[] }[];
}

interface Given {
  readonly database: Database;
  readonly test: TestDatabase;
  readonly clock: VirtualClock;
  readonly alerts: Alert[];
  /** Sets the status that the receiver of alerts answers from now on. */
  readonly answer: (status: number) => void;
  readonly look: (by?: Database, freshnessLimitMs?: number, scheduled?: readonly string[]) => Promise<void>;
  readonly run: (kind: string, state: 'done' | 'failed', error?: SluiceError, resource?: string) => Promise<void>;
}

/** A server that receives alerts; `url` ends with a slash. */
export async function openReceiver(answer: RequestListener) {
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

/** One round of the monitor over one source. */
export async function lookOnce(options: MonitorOptions, source: MonitorOptions['sources'][number]): Promise<void> {
  await recordIncidents(options, source);
  await sendAlerts(options, source, new AbortController().signal);
}

/** Looks at a source as a service does, without alerts. */
export const lookAt = (database: Database): (() => Promise<void>) => {
  const options = { database, sources: [], alertUrl: null, freshnessLimitMs: DAY, hide: String, clock: systemClock };
  return () => recordIncidents({ ...options, log: silent }, servedSource(database));
};

export async function withMonitor(fn: (given: Given) => Promise<void>): Promise<void> {
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

export const byText = (a: string, b: string) => (a < b ? -1 : 1);
