/** The path, query and key of a request, in either of the two documented forms. */
export interface RequestTarget {
  path: string;
  /** Without the key and the endpoint. */
  query: URLSearchParams;
  /** The key in the query string; the documented form is `/?api_key=..&ng=api/v2/endpoint`. */
  key: string | undefined;
}

export function parseTarget(address: string): RequestTarget {
  const url = new URL(address, 'http://sandbox');
  const query = url.searchParams;
  const endpoint = query.get('ng');
  if (url.pathname !== '/' || endpoint === null)
    return { path: withoutTrailingSlash(url.pathname), query, key: undefined };
  const key = query.get('api_key') ?? undefined;
  query.delete('ng');
  query.delete('api_key');
  const [path = '', rest = ''] = endpoint.split('?', 2);
  for (const [name, value] of new URLSearchParams(rest)) query.append(name, value);
  return { path: withoutTrailingSlash(`/${path.replace(/^\/+/, '')}`), query, key };
}

function withoutTrailingSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}
