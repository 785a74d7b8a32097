import { isDraft } from '../../../sandbox/data/table.ts';
import { shownId } from '../../support/compare.ts';
import { comesWithoutIds } from '../plan/choose-variants.ts';
import { CUSTOM_FIELDS } from './custom-fields.ts';
import { allChanges, isTable } from './watch.ts';
import type { World } from './world.ts';

interface Logged {
  readonly [column: string]: unknown;
  readonly number: number;
  readonly resource: string;
  readonly key: string;
  readonly kind: 'inserted' | 'updated' | 'deleted' | 'revived';
  readonly isWhole: boolean;
  /** Epoch ms. */
  readonly earliest: number | null;
  readonly seen: number;
  /** That differ. */
  readonly fields: readonly string[];
  /** Nothing stood where it brought something. */
  readonly isCompleted: boolean;
}

/** Fields that are masked at times, or have a column. */
const REDECLARED = [...CUSTOM_FIELDS, 'email', 'phone', 'notes', 'items'];

/**
 * The log of changes has no gaps, tells what each change was, and says of no row that it came twice. `dates`: each change happened at the source
 * between its two moments. Returns how many were compared with these.
 */
export async function checkLog(
  { plan, database, sandbox, problems, edits }: World,
  { dates }: { dates: boolean },
): Promise<number> {
  let dated = 0;
  const { rows } = await database.query<Logged>(`
    select number::int as number, resource, key, kind,
      case kind when 'updated' then before is not null and after is not null when 'deleted' then before is not null else after is not null end as "isWhole",
      array(select jsonb_object_keys(coalesce(before, '{}') || coalesce(after, '{}'))) as fields,
      kind = 'updated' and not exists (select from jsonb_each(before) b where b.value not in ('null', '[]', '""')) as "isCompleted",
      extract(epoch from earliest)::float8 * 1000 as earliest, extract(epoch from seen_at)::float8 * 1000 as seen
    from warehouse.changes order by number`);
  const [first] = rows;
  const gap = rows.find(({ number }, index) => number !== (first?.number ?? 0) + index);
  if (gap) problems.push(`change ${gap.number} comes after a gap`);
  const gone = new Map<string, boolean>();
  const made = new Map<string, number[]>();
  for (const { resource, id, at } of [...allChanges(sandbox), ...edits]) {
    const place = `${resource} ${shownId(sandbox, id)}`;
    made.set(place, [...(made.get(place) ?? []), at]);
  }
  for (const { number, resource, key, kind, isWhole, earliest, seen, fields, isCompleted } of rows) {
    const place = `${resource} ${key}`;
    const what = `change ${number} (${place} ${kind})`;
    // What differed may be masked by now, or say the same in its column.
    if (!isWhole && !(plan.declares && kind === 'updated')) problems.push(`${what} does not say what it was`);
    const comes = kind === 'inserted' || kind === 'revived';
    if (gone.get(place) === !comes) problems.push(`${what} follows one that it cannot follow`);
    gone.set(place, kind === 'deleted');
    if (!dates || !isTable(resource) || comesWithoutIds(resource, sandbox.variants)) continue;
    const isWithin = (at: number) => at >= Math.floor(earliest ?? Number.NEGATIVE_INFINITY) && at <= Math.ceil(seen);
    // A reading stores again what a migration did not keep (docs/changes.md).
    if (kind === 'updated' && plan.declares && fields.every(field => REDECLARED.includes(field))) continue;
    // Its first answer came without them (docs/changes.md).
    if (isCompleted && sandbox.variants['invoice-fields'] === 'bare') continue;
    // One that the date filter leaves out may have been there while all windows were read again.
    if (kind === 'inserted' && sandbox.variants.drafts === 'hidden' && isDraft(Number(key))) continue;
    // A row of which nobody knows since when it was there may have been there all along.
    dated++;
    const times = [...(made.get(place) ?? []), ...(kind === 'inserted' ? [Number.NEGATIVE_INFINITY] : [])];
    if (!times.some(isWithin))
      problems.push(
        `${what} is dated ${earliest === null ? '..' : new Date(earliest).toISOString()} to ${new Date(seen).toISOString()}; made at ${
          times
            .filter(Number.isFinite)
            .map(at => new Date(at).toISOString())
            .join(', ') || 'no time'
        }`,
      );
  }
  return dated;
}
