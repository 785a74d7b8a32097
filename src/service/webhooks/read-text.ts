/**
 * The text of a request's body, or null when that is larger than `mostBytes`, of which no more is kept. In place of hono's
 * `bodyLimit`, which fails on whatever comes in chunks unless the server replaces the global Request.
 */
export async function readText(request: Request, mostBytes: number): Promise<string | null> {
  if (Number(request.headers.get('content-length')) > mostBytes) return null;
  const parts: Uint8Array[] = [];
  let size = 0;
  // Not cancelled when it is too large: the connection has to stay for the answer.
  for await (const part of request.body?.values({ preventCancel: true }) ?? []) {
    size += part.length;
    if (size > mostBytes) return null;
    parts.push(part);
  }
  return new TextDecoder().decode(Buffer.concat(parts));
}
