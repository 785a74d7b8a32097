import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import type { SourceAddress } from '../support/open-source.ts';

export interface OneBody extends SourceAddress {
  /** Rows in the body. */
  readonly records: number;
  close(): Promise<void>;
}

const ROWS_PER_PART = 1000;

/** Serves customers as one body of about `megabytes`, whatever page and limit are asked for, and no other rows. */
export async function serveOneBody(megabytes: number): Promise<OneBody> {
  const records = Math.ceil((megabytes * 1e6) / (rowText(1e6).length + 1));
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    response.setHeader('content-type', 'application/json');
    // An unread request ends when the client closes its connection.
    Readable.from(bodyParts(pathname === '/api/v2/customers' ? records : 0))
      .on('error', () => undefined)
      .pipe(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    apiKey: 'key',
    records,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function* bodyParts(records: number): Generator<string> {
  yield '{"success":true,"data":[';
  for (let from = 1; from <= records; from += ROWS_PER_PART) {
    const ids = Array.from({ length: Math.min(ROWS_PER_PART, records - from + 1) }, (_, index) => from + index);
    yield `${from === 1 ? '' : ','}${ids.map(rowText).join()}`;
  }
  yield `],"meta":{"current_page":1,"total_pages":1,"total_records":${records}}}`;
}

function rowText(id: number): string {
  return JSON.stringify({
    id,
    account: `Customer ${id}`,
    email: `customer${id}@example.com`,
    phone: '+43 1 58858',
    address: `${id} Long Street`,
    city: 'Vienna',
    state: 'Vienna',
    zip: '1040',
    country: 'Austria',
    created_at: '2024-03-01T09:00:00Z',
    updated_at: '2024-03-01T09:00:00Z',
  });
}
