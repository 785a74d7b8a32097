import type { Config, SourceConfig } from '../../config/config.ts';
import { groupBy } from '../../engine/group-by.ts';
import { fieldsBesideKey, type Job } from '../../engine/job.ts';
import { SluiceError } from '../../errors.ts';
import { count, listed } from '../../service/format.ts';
import type { Queryable } from '../../warehouse/database/database.ts';
import { plainHostOf } from '../../warehouse/database/pool.ts';
import { findPowers, POWERS_NEXT } from '../../warehouse/reports/server.ts';
import type { OpenSource } from './session.ts';

/** Throws the kind `configuration` if a limit of rewrites is set for a column that its list does not have. */
export function checkRewriteLimits({ sources }: Pick<Config, 'sources'>, jobs: ReadonlyMap<string, Job>): void {
  for (const { name: source, rewriteLimits } of sources)
    for (const [list, limits] of Object.entries(rewriteLimits)) {
      const job = jobs.get(list);
      const known = job ? fieldsBesideKey(job) : [];
      const unknown = Object.keys(limits).find(field => !known.includes(field));
      if (unknown === undefined) continue;
      throw new SluiceError(
        'configuration',
        `REWRITE_LIMIT_${list.toUpperCase()} (rewrite_limits in the sources file) of the source ${source} names "${unknown}", which ${list} does not have.`,
        { next: `Expected: ${known.join(', ')}. Nothing was started.` },
      );
    }
}

/** Which file decides where the keys are sent: one sentence for each, none for addresses that the environment sets. */
export function describeAddresses(sources: readonly SourceConfig[]): string[] {
  const fromFiles = sources.filter(({ addressFile, settings }) => addressFile !== null && settings !== null);
  return [...groupBy(fromFiles, ({ addressFile }) => addressFile)].map(([file, [first, ...others]]) =>
    others.length === 0
      ? `The address ${new URL(first?.settings?.url ?? '').origin} comes from ${file}`
      : `The addresses of ${others.length + 1} sources come from ${file}`,
  );
}

/** Something that works although it is unsafe or probably not intended. */
interface Concern {
  readonly found: string;
  readonly next: string;
}

/** A database that others on the network may listen to. */
export function describeTls(url: string): Concern[] {
  const host = plainHostOf(url);
  if (host === null) return [];
  const found = `DATABASE_URL leads to ${host} without requiring TLS, so others on the network may read the password and the data, and change them`;
  return [{ found, next: 'Add sslmode=verify-full to DATABASE_URL. See docs/security.md, "TLS to the database".' }];
}

/** The sources that share a key, and those that also have one address, so that they are one installation under several names. */
export function describeShared(sources: readonly OpenSource[]): Concern[] {
  const found: string[] = [];
  for (const sharing of groupBy(sources, ({ settings }) => settings.apiKey).values()) {
    if (sharing.length === 1) continue;
    // The ledger grants what the lowest limit in use allows.
    const limits = sharing.map(({ rateLimit }) => rateLimit);
    const lowest = count(Math.min(...limits));
    const share = `they share one request limit${new Set(limits).size > 1 ? `, the lowest of theirs: ${lowest}` : ` of ${lowest}`}`;
    const places = groupBy(sharing, ({ settings }) => new URL(settings.url).href.replace(/\/+$/, ''));
    for (const same of places.values())
      if (same.length > 1)
        found.push(`${namesOf(same)} have the same address and key: each reads the same data, and ${share}`);
    if (places.size > 1) found.push(`${namesOf(sharing)} have the same key for different addresses: ${share}`);
  }
  const next = 'If this is not intended, correct url or api_key_from in the sources file.';
  return found.map(each => ({ found: each, next }));
}

const namesOf = (sources: readonly OpenSource[]): string => listed(sources.map(({ name }) => name));

/** A login that may do more than the tables need. */
export async function describePowers(database: Queryable): Promise<Concern[]> {
  const found = await findPowers(database);
  return found === null ? [] : [{ found, next: POWERS_NEXT }];
}
