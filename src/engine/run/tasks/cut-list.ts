import { REPORT } from '../../../warehouse/ledgers/cursors.ts';
import { listMissing } from '../../../warehouse/rows/missing-rows.ts';
import { countByDay } from '../../../warehouse/rows/stored-rows.ts';
import { cutOut, cutWindows, daysToCount } from '../../agenda/cut-windows.ts';
import type { CoverageChange } from '../../coverage/prove.ts';
import { placeOf, type Resource } from '../../resource.ts';
import { dayIn } from '../../slices/date-windows.ts';
import { type DateSlice, parseSlice, type Slice } from '../../slices/slice.ts';
import type { Engine, Loop } from '../engine.ts';

/**
 * How the windows of a list are cut anew, or so that of the days that are named only these are read; null where nothing is gained. The change is to be
 * decided once more between two commits. What hints point to (`pointedTo`) stays as it is.
 */
export async function cutList(
  { database, timeZone }: Pick<Engine, 'database' | 'timeZone'>,
  resource: Resource,
  now: number,
  { targets, pointedTo = [] }: { readonly targets?: readonly Slice[]; readonly pointedTo?: readonly Slice[] } = {},
): Promise<(() => Partial<CoverageChange>) | null> {
  const { dates, table, strategy } = resource;
  const named = targets?.filter((slice): slice is DateSlice => slice.by === 'date');
  if (dates === undefined || named?.length === 0) return null;
  const missing = resource.holdsMissing
    ? (resource.missing ?? (await listMissing(database.kysely, placeOf(resource), table, strategy)))
    : [];
  const keep = () => {
    // Slices that are half read. Those of a report keep no proof.
    const halfRead = Object.keys(resource.cursor.readings).filter(name => !name.startsWith(REPORT));
    return [...[...missing.map(({ slice }) => slice), ...halfRead].map(parseSlice), ...resource.reading, ...pointedTo];
  };
  const days = daysToCount(resource, keep(), named);
  if (days === null) return null;
  const rowsOn = await countByDay(database.kysely, table, dates.field, days);
  const decide = () => {
    const facts = { today: dayIn(now, timeZone), now, rowsOn, keep: keep() };
    return named === undefined ? cutWindows(resource, facts) : cutOut(resource, named, facts);
  };
  return decide() === null ? null : () => decide() ?? {};
}

/** The windows of a list that hints point to. */
export const pointedTo = ({ tasks }: Loop, resource: Resource): Slice[] =>
  tasks.flatMap(task =>
    task.kind === 'hint' && task.resource === resource ? task.state.targets.filter(({ by }) => by === 'date') : [],
  );
