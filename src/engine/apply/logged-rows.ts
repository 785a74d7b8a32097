import type { Logged } from '../../warehouse/rows/write/change-log.ts';
import { listAsOf, rowAsOf } from '../coverage/as-of.ts';
import type { Step } from '../read/step.ts';
import type { Resource } from '../resource.ts';

/** How changes of the rows that these steps bring are logged; undefined before all of the list was read, and where rows are only compared. */
export function loggedRows(resource: Resource, steps: readonly Step[]): Logged | undefined {
  if (!resource.cursor.isLogged || steps.some(({ task }) => task.reportOnly)) return undefined;
  const { partition, membership } = resource.strategy;
  const date = partition === 'date' ? (resource.dates?.field ?? null) : null;
  const by = membership === 'date' ? date : null;
  const days = new Map<string, string | null>();
  if (by !== null) for (const { rows } of steps) for (const { key, values } of rows) days.set(key, values[by] ?? null);
  return {
    source: resource.source,
    listAsOf: textOf(listAsOf(resource)),
    rowAsOf: key => textOf(rowAsOf(resource, { key, day: days.get(key) ?? null })),
    by,
    date,
    canMove: partition === 'date',
  };
}

const textOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());
