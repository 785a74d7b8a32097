import { toJson } from './json-text.ts';

const ROWS_PER_CHUNK = 1000;
const NO_ID = 1_000_000_000;
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

/** Pagination metadata of a list. */
export interface Meta {
  current_page: number;
  total_pages: number;
  total_records: number;
}

// Apart from faults, every response of the API is one of these.

export function success(data: object, status: 200 | 201 | 202 = 200, message?: string): Response {
  return json({ success: true, data, ...(message === undefined ? {} : { message }) }, status);
}

export function failure(status: number, message: string, errors?: Record<string, string>): Response {
  return json({ success: false, ...(errors === undefined ? {} : { errors }), message }, status);
}

/** `errors` maps a field to a message. */
export function validationFailure(status: number, errors: Record<string, string>): Response {
  return failure(status, 'Validation failed', errors);
}

/** How the items of a row are written: as an array, or as an object whose names are this many times the position. */
export type ItemsForm = 'array' | 1 | 2;

/** How a list is written: like items, or as an object whose names are the ids of its rows. */
export type ListForm = ItemsForm | 'ids';

/** A list of `count` rows. A long one is rendered and sent in chunks, so that a million rows are never one string. */
export function rowList(
  count: number,
  row: (index: number) => object | null,
  meta: object | undefined,
  form: ListForm = 'array',
): Response {
  const isArray = form === 'array' || count === 0;
  const [opening, closing] = isArray ? ['[', ']'] : ['{', '}'];
  const nameOf = (index: number, shown: object | null) => {
    if (isArray) return '';
    if (form !== 'ids') return `"${index * Number(form)}":`;
    // A row without an id must not take the name of another.
    return `"${toJson(Object(shown).id ?? NO_ID + index).replaceAll('"', '')}":`;
  };
  const end = meta === undefined ? `${closing}}` : `${closing},"meta":${JSON.stringify(meta)}}`;
  const chunkFrom = (from: number) => {
    const texts: string[] = [];
    for (let index = from; index < Math.min(count, from + ROWS_PER_CHUNK); index += 1) {
      const shown = row(index);
      texts.push(nameOf(index, shown) + toJson(shown));
    }
    return (
      (from === 0 ? `{"success":true,"data":${opening}` : ',') +
      texts.join(',') +
      (from + ROWS_PER_CHUNK >= count ? end : '')
    );
  };
  if (count <= ROWS_PER_CHUNK) return new Response(chunkFrom(0), { headers: JSON_TYPE });

  let from = 0;
  const encoder = new TextEncoder();
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(encoder.encode(chunkFrom(from)));
      from += ROWS_PER_CHUNK;
      if (from >= count) controller.close();
    },
  });
  return new Response(stream, { headers: JSON_TYPE });
}

export function htmlPage(status: number, title: string): Response {
  const page = `<!DOCTYPE html><html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`;
  return new Response(page, { status, headers: { 'content-type': 'text/html; charset=utf-8' } });
}

function json(body: unknown, status: number): Response {
  return new Response(toJson(body), { status, headers: JSON_TYPE });
}
