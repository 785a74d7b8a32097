/** The address of a record's page; it names the source where there are several. */
export function recordPath({
  resource,
  key,
  source,
  several,
}: {
  readonly resource: string;
  readonly key: string;
  readonly source: string;
  readonly several: boolean;
}): string {
  const path = `/record/${encodeURIComponent(resource)}/${encodeURIComponent(key)}`;
  return several ? `${path}?source=${encodeURIComponent(source)}` : path;
}
