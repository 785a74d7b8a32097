import { createHash, hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { SluiceError } from '../../errors.ts';
import { plural } from '../../service/format.ts';

/*
 * A closed month as a file, one JSON object a line: itself, its rows as they were, and then the rows that are not so any more. Its digest is the
 * SHA-256 of the first line, which names the digest of each list: the SHA-256 of the hashes of its lines. docs/history.md has the recipe.
 */

const digest = z.string().regex(/^[0-9a-f]{64}$/);
const row = z.record(z.string(), z.unknown());
const place = { resource: z.string(), key: z.string() };

const HEAD = z.strictObject({
  source: z.string(),
  month: z.string(),
  sealed_at: z.string(),
  lists: z.array(
    z.strictObject({ resource: z.string(), rows: z.int(), sums: z.record(z.string(), z.string()), digest }),
  ),
});
const SEALED = z.strictObject({ ...place, row });
const ERASED = z.strictObject({ ...place, erased: digest });
const RESTATED = z.strictObject({
  ...place,
  restated: z.enum(['added', 'changed', 'deleted']),
  before: row.nullable(),
  after: row.nullable(),
});
const LINE = z.union([SEALED, ERASED, RESTATED]);

/** What a sound file says. */
export interface CheckedSeal extends z.infer<typeof HEAD> {
  readonly digest: string;
  readonly restated: Readonly<Record<z.infer<typeof RESTATED>['restated'], number>>;
  /** Rows that were erased since, of which only the hash is left. */
  readonly erased: number;
}

/** Kind `failed` unless its rows are those of its first line, and `usage` for another file. */
export function checkSealFile(text: string): CheckedSeal {
  const [first = '', ...lines] = text.replace(/\n$/, '').split('\n');
  const head = parsed(HEAD, first, 1);
  const lists = new Map(head.lists.map(list => [list.resource, { ...list, read: 0, hashes: createHash('sha256') }]));
  const rows = new Map<string, z.infer<typeof SEALED | typeof ERASED>>();
  const changed = new Set<string>();
  const restated = { added: 0, changed: 0, deleted: 0 };
  let erased = 0;
  for (const [index, text] of lines.entries()) {
    const line = parsed(LINE, text, index + 2);
    const name = JSON.stringify([line.resource, line.key]);
    const list = lists.get(line.resource);
    if (list === undefined) throw altered(`line ${index + 2} is of a list that was not closed`);
    if ('restated' in line) {
      if (changed.has(name)) throw altered(`line ${index + 2} repeats a row`);
      changed.add(name);
      checkBefore(line, rows.get(name));
      restated[line.restated]++;
      continue;
    }
    if (rows.has(name)) throw altered(`line ${index + 2} repeats a row`);
    rows.set(name, line);
    list.read++;
    list.hashes.update(`${'erased' in line ? line.erased : hash('sha256', text)}\n`);
    if ('erased' in line) erased++;
  }
  for (const { resource, rows: closed, read, digest: known, hashes } of lists.values()) {
    if (read !== closed) throw altered(`${plural(closed, 'row')} of ${resource} were closed, and it holds ${read}`);
    if (hashes.digest('hex') !== known) throw altered(`the rows of ${resource} are not those that were closed`);
  }
  return { ...head, digest: hash('sha256', first), restated, erased };
}

/** What a row is said to have been must be what was closed. */
function checkBefore(
  { resource, key, restated, before }: z.infer<typeof RESTATED>,
  closed: z.infer<typeof SEALED | typeof ERASED> | undefined,
): void {
  const isKnown = closed !== undefined && 'row' in closed;
  if (isKnown === (restated === 'added')) throw altered(`${resource} ${key} cannot have been ${restated}`);
  if (!isKnown) return;
  const was = restated === 'deleted' ? closed.row : Object.keys(before ?? {}).map(field => closed.row[field] ?? null);
  const said = restated === 'deleted' ? before : Object.values(before ?? {});
  if (!isDeepStrictEqual(was, said)) throw altered(`${resource} ${key} was not closed as the file says it was`);
}

function parsed<T>(schema: z.ZodType<T>, line: string, number: number): T {
  try {
    return schema.parse(JSON.parse(line));
  } catch (cause) {
    throw new SluiceError('usage', `Line ${number} is not from a closed month.`, {
      cause,
      next: 'Expected: a file that sluice close <month> --export wrote.',
    });
  }
}

const altered = (what: string) => new SluiceError('failed', `The file was altered: ${what}.`);
