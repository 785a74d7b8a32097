import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { json, openPeer } from '../../source/peer.ts';

/** A row as JSON text, right or wrong, and the date by which the source itself files it. */
export interface OwnRow {
  readonly text: string;
  readonly date?: string;
}

export type OwnLists = Record<'customers' | 'invoices' | 'transactions', Map<number, OwnRow>>;

/** A source that sends exactly the text it is given, paged with `meta`, newest id first; ends with the test. */
export async function openOwnSource(lists: OwnLists): Promise<Sandbox> {
  const peer = await openPeer((response, _nth, request) => {
    const url = new URL(request.url ?? '/', 'http://own');
    const [name = '', key] = url.pathname.replace('/api/v2/', '').split('/');
    const list = lists[name as keyof OwnLists];
    const asked = Object.fromEntries(url.searchParams);
    if (key !== undefined) {
      const row = list.get(Number(key));
      return row
        ? json(response, `{"success":true,"data":${row.text}}`)
        : json(response, { success: false, message: 'Not found' }, 404);
    }
    const rows = [...list.entries()]
      .sort(([a], [b]) => b - a)
      .map(([, row]) => row)
      .filter(({ date = '2025-03-01' }) => date >= (asked.date_from ?? '') && date <= (asked.date_to ?? '9999'))
      .filter(({ text }) => asked.status === undefined || text.includes(`"status":"${asked.status}"`));
    const limit = Math.min(Number(asked.limit ?? 20), 100);
    const page = Number(asked.page ?? 1);
    const shown = rows.slice((page - 1) * limit, page * limit).map(row => row.text);
    const meta = {
      current_page: page,
      per_page: limit,
      total_pages: Math.max(Math.ceil(rows.length / limit), 1),
      total_records: rows.length,
    };
    json(response, `{"success":true,"data":[${shown.join()}],"meta":${JSON.stringify(meta)}}`);
  });
  return { url: peer.url, apiKey: 'own-key' } as Sandbox;
}
