import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

type Rows = readonly Readonly<Record<string, unknown>>[];

/** A source that shows these lists whole, each below its name; any other list is empty. */
export async function withLists(
  lists: Readonly<Record<string, Rows>>,
  fn: (url: string) => Promise<void>,
): Promise<void> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://x');
    const rows = lists[url.pathname.replace('/api/v2/', '')] ?? [];
    const page = Number(url.searchParams.get('page') ?? 1);
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        status: 'success',
        data: page === 1 ? rows : [],
        meta: { total_records: rows.length, total_pages: Math.min(rows.length, 1) },
      }),
    );
  }).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  try {
    await fn(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
  }
}
