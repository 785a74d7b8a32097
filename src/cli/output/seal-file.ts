import { createHash, hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { SluiceError } from '../../errors.ts';
import { plural } from '../../service/format.ts';
import type { Restatement, Seal } from '../../warehouse/rows/seals.ts';

/*
 * A closed month as a file, one JSON object a line: what was closed, then its rows as they were, then the rows that are not so any more. The
 * digest of a list is the SHA-256 of the hashes of its lines; that of the month, of its lists. docs/history.md has the recipe.
 */

type Sealed = Pick<Seal, 'month' | 'digest' | 'lists'> & { readonly source: string; readonly sealed_at: string };

export const firstLine = (source: string, { month, sealedAt, digest, lists }: Seal): string =>
  JSON.stringify({ source, month, sealed_at: sealedAt, digest, lists } satisfies Sealed);

type Line =
  | { readonly resource: string; readonly key: string; readonly row: Restatement['before'] }
  | { readonly resource: string; readonly key: string; readonly erased: string }
  | (Omit<Restatement, 'kind' | 'month'> & { readonly restated: Restatement['kind'] });

/** What a sound file says. */
export interface CheckedSeal extends Sealed {
  readonly restated: Readonly<Record<Restatement['kind'], number>>;
  /** Rows that were erased since, of which only the hash is left. */
  readonly erased: number;
}

/** Kind `failed` unless its rows are those that were closed, and `usage` for another file. */
export function checkSealFile(text: string): CheckedSeal {
  const [first = '', ...lines] = text.split('\n').filter(line => line !== '');
  const sealed = parsed(first, 1) as Partial<Sealed>;
  if (!sealed.month || !sealed.digest || !Array.isArray(sealed.lists)) throw notOurs(1);
  const hashes = new Map<string, ReturnType<typeof createHash>>();
  const rows = new Map<string, number>();
  const restated = { added: 0, changed: 0, deleted: 0 };
  const changes = new Map<string, Extract<Line, { restated: unknown }>>();
  const nameOf = ({ resource, key }: Line) => JSON.stringify([resource, key]);
  const read = lines.map((line, index) => parsed(line, index + 2) as Line);
  for (const [index, line] of read.entries())
    if ('restated' in line) {
      if (!Object.hasOwn(restated, line.restated)) throw notOurs(index + 2);
      restated[line.restated]++;
      changes.set(nameOf(line), line);
    }
  let erased = 0;
  for (const [index, line] of read.entries()) {
    if ('restated' in line) continue;
    if ('erased' in line) erased++;
    const list = hashes.get(line.resource) ?? createHash('sha256');
    hashes.set(line.resource, list.update(`${'erased' in line ? line.erased : hash('sha256', lines[index] ?? '')}\n`));
    rows.set(line.resource, (rows.get(line.resource) ?? 0) + 1);
    if ('row' in line) checkBefore(line, changes.get(nameOf(line)));
  }
  for (const { resource, rows: count, digest } of sealed.lists) {
    if ((rows.get(resource) ?? 0) !== count)
      throw forged(
        `${plural(count, 'row')} of ${resource} were closed, and ${rows.get(resource) ?? 0} are in the file`,
      );
    if ((hashes.get(resource) ?? createHash('sha256')).digest('hex') !== digest)
      throw forged(`the rows of ${resource} are not those that were closed`);
  }
  if (digestOf(sealed.lists) !== sealed.digest) throw forged('its numbers are not those that were closed');
  return { ...(sealed as Sealed), restated, erased };
}

const digestOf = (lists: Seal['lists']): string =>
  hash('sha256', lists.map(({ resource, rows, digest }) => `${resource} ${rows} ${digest}\n`).join(''));

/** What a row is said to have been must be what was closed. */
function checkBefore(
  line: Extract<Line, { row: unknown }>,
  change: Extract<Line, { restated: unknown }> | undefined,
): void {
  for (const [field, value] of Object.entries(change?.before ?? {}))
    if (!isDeepStrictEqual(line.row?.[field], value))
      throw forged(`${line.resource} ${line.key} was closed with another ${field} than the file says`);
}

function parsed(line: string, number: number): unknown {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Below.
  }
  throw notOurs(number);
}

const notOurs = (line: number) =>
  new SluiceError('usage', `Line ${line} is not from a closed month.`, {
    next: 'Expected: a file that sluice close <month> --export wrote.',
  });

const forged = (what: string) => new SluiceError('failed', `The file was altered: ${what}.`);
