import type { Meta } from '../lists/choose-page.ts';
import { toJson } from '../lists/render-row.ts';

const ROWS_PER_CHUNK = 1000;
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

/** The envelopes of the API: every answer is one of these, faults aside. */

export function succeed(data: object, status: 200 | 201 = 200, message?: string): Response {
  return json({ success: true, data, ...(message === undefined ? {} : { message }) }, status);
}

export function fail(status: number, message: string, errors?: Record<string, string>): Response {
  return json({ success: false, ...(errors === undefined ? {} : { errors }), message }, status);
}

export function invalid(status: number, errors: Record<string, string>): Response {
  return fail(status, 'Validation failed', errors);
}

/** A list; a long one is made and sent in pieces, so that a whole million rows is never one string. */
export function succeedWithRows(count: number, row: (index: number) => object, meta: Meta | undefined): Response {
  const foot = meta === undefined ? ']}' : `],"meta":${JSON.stringify(meta)}}`;
  const rowsText = (from: number) => {
    const texts: string[] = [];
    for (let index = from; index < Math.min(count, from + ROWS_PER_CHUNK); index += 1) texts.push(toJson(row(index)));
    return (
      (from === 0 ? '{"success":true,"data":[' : ',') + texts.join(',') + (from + ROWS_PER_CHUNK >= count ? foot : '')
    );
  };
  if (count <= ROWS_PER_CHUNK) return new Response(rowsText(0), { headers: JSON_TYPE });

  let from = 0;
  const encoder = new TextEncoder();
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(encoder.encode(rowsText(from)));
      from += ROWS_PER_CHUNK;
      if (from >= count) controller.close();
    },
  });
  return new Response(stream, { headers: JSON_TYPE });
}

export function html(status: number, title: string): Response {
  const page = `<!DOCTYPE html><html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`;
  return new Response(page, { status, headers: { 'content-type': 'text/html; charset=utf-8' } });
}

function json(body: unknown, status: number): Response {
  return new Response(toJson(body), { status, headers: JSON_TYPE });
}
