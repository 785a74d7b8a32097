import { type Agent, request } from 'node:http';
import customers from '../../jobs/customers.ts';
import invoices from '../../jobs/invoices.ts';
import transactions from '../../jobs/transactions.ts';
import { createLedger } from '../../src/budget/ledger/ledger.ts';
import { systemClock } from '../../src/clock.ts';
import { createLog } from '../../src/log.ts';
import { openService, type Service, type ServiceOptions } from '../../src/service/service.ts';
import type { Editor } from '../../src/service/status/editor.ts';
import type { ServedSource } from '../../src/service/status/served-source.ts';
import type { Database } from '../../src/warehouse/database/database.ts';

/** No list has more fields, and nothing can be changed. */
export const noEditor: Editor = {
  types: ['text'],
  last: null,
  readFields: async () => ({ fields: [], masks: [] }),
  reserveOf: () => null,
  addField: async () => undefined,
  addRule: async () => undefined,
  setReserve: async () => undefined,
};

export const silent = createLog({ level: 'silent' });

/** The source `main` as `sluice start` serves it. */
export function servedSource(database: Database, apiKey = 'key'): ServedSource {
  const limits = { limit: 1000, windowMs: 3_600_000, timeoutMs: 30_000 };
  const ledger = createLedger({ database, source: 'main', apiKey, ...limits });
  return {
    name: 'main',
    schema: 'warehouse',
    timeZone: 'UTC',
    jobs: new Map(Object.entries({ customers, invoices, transactions })),
    scheduled: ['customers', 'invoices', 'transactions'],
    rules: { ...limits, timeZone: 'UTC' },
    usage: () => ledger.usage(),
    nextTickAt: now => now + 720_000,
  };
}

/** The service on a free port of this machine; closed afterwards. */
export async function withService(
  database: Database,
  options: Partial<ServiceOptions>,
  fn: (service: Service) => Promise<void>,
): Promise<void> {
  const service = await openService({
    host: '127.0.0.1',
    port: 0,
    token: null,
    database,
    sources: [servedSource(database)],
    openReader: async () => null,
    editor: noEditor,
    pending: async () => [],
    pulse: { stalled: () => [] },
    hide: text => text,
    clock: systemClock,
    log: silent,
    ...options,
  });
  try {
    await fn(service);
  } finally {
    await service.close();
  }
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** One request with exactly these headers, `Host` among them. */
export function ask(
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string; agent?: Agent } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { method = 'GET', headers = {}, body, agent = false } = options;
    const sent = request(url, { method, headers, agent }, response => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** The sources that `wakeUp` wakes from now on. */
export async function hearWakeUps(database: Database) {
  const client = await database.connect('test');
  const woken: string[] = [];
  client.on('notification', ({ payload = '' }) => woken.push(JSON.parse(payload).source));
  await client.query('listen sluice_sources');
  return { woken, end: () => client.end() };
}

/** Sends a form as a page of the service at `url` does. */
export const sendForm = (
  url: string,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
) =>
  ask(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin: url, ...headers },
    body: new URLSearchParams(fields).toString(),
  });
