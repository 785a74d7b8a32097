import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../../src/clock.ts';
import type { Receiver } from '../../../src/receivers.ts';
import { type DeliveryOptions, deliverNext } from '../../../src/service/notify/deliver-next.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { beginDelivery } from '../../../src/warehouse/ledgers/deliveries.ts';
import { silent } from '../with-service.ts';

export const SECRET = `whsec_${Buffer.from('a secret of the test, 32 bytes..').toString('base64')}`;

export interface Got {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A server on this machine that keeps what it is sent, and answers as told. */
export async function withReceiver(
  answer: (got: Got, response: ServerResponse) => void,
  work: (receiver: { readonly url: string; readonly got: Got[] }) => Promise<void>,
): Promise<void> {
  const got: Got[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      body += part;
    });
    request.on('end', () => {
      const one = { headers: request.headers, body };
      got.push(one);
      answer(one, response);
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  try {
    await work({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook-secret-path-7`, got });
  } finally {
    const closed = new Promise(resolve => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }
}

export const accept = (_got: unknown, response: ServerResponse): void => void response.writeHead(204).end();

export const receiverAt = (url: string, more: Partial<Receiver> = {}): Receiver => ({
  name: 'crm',
  source: 'main',
  url,
  secret: SECRET,
  on: ['*.*'],
  form: 'standard',
  allowPrivate: true,
  ...more,
});

/** Changes of customers `from` .. `to`: deleted, and every third of them inserted. */
export async function logChanges(database: Database, from: number, to: number): Promise<void> {
  await database.query(
    `with logged as (insert into warehouse.change_log (number, resource, key, kind, seen_at)
        select n, 'customers', n::text, case when n % 3 = 0 then 'inserted' else 'deleted' end, now() from generate_series($1::int, $2::int) n)
      insert into sluice.change_numbers (schema, last) values ('warehouse', $2) on conflict (schema) do update set last = excluded.last`,
    [from, to],
  );
}

export const optionsOf = (database: Database, more: Partial<DeliveryOptions> = {}): DeliveryOptions => ({
  database,
  openReader: async () => database,
  hide: String,
  clock: systemClock,
  log: silent,
  random: () => 0,
  ...more,
});

/** Begins at `next` where nothing is known of the receiver, and delivers until nothing more is to be done at once. */
export async function deliverAll(options: DeliveryOptions, receiver: Receiver, next = 1): Promise<void> {
  await beginDelivery(options.database.kysely, receiver, { schema: 'warehouse', next });
  while (await deliverNext(options, receiver, 'warehouse', new AbortController().signal));
}

export async function progressOf(database: Database): Promise<Record<string, unknown>> {
  const { rows } = await database.query(
    'select next::int, attempts, reason, paused_at is not null as paused from sluice.deliveries',
  );
  return rows[0] ?? {};
}

export const numbersIn = ({ body }: Got): number[] =>
  (JSON.parse(body) as { changes: { number: number }[] }).changes.map(({ number }) => number);
