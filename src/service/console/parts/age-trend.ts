import type { TickServed } from '../../../warehouse/reports/activity.ts';

/**
 * How long ago the source had last been up to date at each of `points` moments of the last `hours`, in milliseconds, oldest first: the age of the
 * oldest tick among those that the resources had been served last. Null where one had not been served yet.
 */
export function ageTrend(
  ticks: readonly TickServed[],
  resources: readonly string[],
  { now, hours, points }: { now: number; hours: number; points: number },
): (number | null)[] {
  const span = hours * 3_600_000;
  const served = new Map<string, number>();
  let next = 0;
  const ages: (number | null)[] = [];
  for (let point = 0; point < points; point++) {
    const moment = now - span + (span * (point + 1)) / points;
    for (let tick = ticks[next]; tick && tick.endedAt <= moment; tick = ticks[++next])
      served.set(tick.resource, Math.max(served.get(tick.resource) ?? 0, tick.at));
    const known = resources.flatMap(resource => served.get(resource) ?? []);
    ages.push(resources.length > 0 && known.length === resources.length ? moment - Math.min(...known) : null);
  }
  return ages;
}
