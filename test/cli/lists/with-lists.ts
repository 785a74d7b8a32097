import { json, openPeer } from '../../source/peer.ts';

type Rows = readonly Readonly<Record<string, unknown>>[];

/** A source that shows these lists whole, each below its name; any other list is empty. It ends with the test. */
export async function withLists(
  lists: Readonly<Record<string, Rows>>,
  fn: (url: string) => Promise<void>,
): Promise<void> {
  const peer = await openPeer((response, _nth, request) => {
    const url = new URL(request.url ?? '', 'http://x');
    const rows = lists[url.pathname.replace('/api/v2/', '')] ?? [];
    const page = Number(url.searchParams.get('page') ?? 1);
    const meta = { total_records: rows.length, total_pages: Math.min(rows.length, 1) };
    json(response, { status: 'success', data: page === 1 ? rows : [], meta });
  });
  await fn(peer.url);
}
