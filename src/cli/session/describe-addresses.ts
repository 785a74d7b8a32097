import type { SourceConfig } from '../../config/config.ts';

/** Which file decides where the keys are sent: one sentence for each, none for addresses that the environment sets. */
export function describeAddresses(sources: readonly SourceConfig[]): string[] {
  const files = new Map<string, string[]>();
  for (const { addressFile, settings } of sources)
    if (addressFile !== null && settings !== null)
      files.set(addressFile, [...(files.get(addressFile) ?? []), new URL(settings.url).origin]);
  return [...files].map(([file, [first, ...others]]) =>
    others.length === 0
      ? `The address ${first} comes from ${file}`
      : `The addresses of ${others.length + 1} sources come from ${file}`,
  );
}
