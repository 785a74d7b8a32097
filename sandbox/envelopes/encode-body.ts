/** The same response with its JSON in another encoding. */
export async function encodeBody(response: Response, charset: 'utf-8' | 'latin1' | 'broken'): Promise<Response> {
  const type = response.headers.get('content-type') ?? '';
  if (charset === 'utf-8' || !response.ok || !type.includes('json')) return response;
  const text = await response.text();
  const headers = new Headers(response.headers);
  if (charset === 'latin1') headers.set('content-type', 'application/json; charset=iso-8859-1');
  const bytes = charset === 'latin1' ? latin1(text) : broken(text);
  return new Response(bytes, { status: response.status, headers });
}

/** JSON can escape what ISO-8859-1 lacks. The characters from U+0080 to U+009F are escaped, too: many programs take them for others. */
function latin1(text: string): Uint8Array<ArrayBuffer> {
  const escaped = text.replace(/[^\0-\u007f\u00a0-\u00ff]/g, unit => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  return Uint8Array.from(escaped, unit => unit.charCodeAt(0));
}

/** Letters that lose their first byte, as when ISO-8859-1 is stored as if it were UTF-8. Each is one invalid byte. */
const LETTERS = /[\u00c0-\u00ff]/;

function broken(text: string): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const parts = text.split(/([\u00c0-\u00ff])/).map(part => {
    return LETTERS.test(part) ? Uint8Array.of(part.charCodeAt(0)) : encoder.encode(part);
  });
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
