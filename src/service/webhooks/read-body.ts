/**
 * The body of a request as text, or null when it is larger than `mostBytes`; never more than that is kept. hono's `bodyLimit` fails
 * on chunked bodies unless the server replaces the global Request.
 */
export async function readBody(request: Request, mostBytes: number): Promise<string | null> {
  if (Number(request.headers.get('content-length')) > mostBytes) return null;
  const parts: Uint8Array[] = [];
  let size = 0;
  // Not cancelled when too large: the response still needs the connection.
  for await (const part of request.body?.values({ preventCancel: true }) ?? []) {
    size += part.length;
    if (size > mostBytes) return null;
    parts.push(part);
  }
  return new TextDecoder().decode(Buffer.concat(parts));
}
