import { explain } from '../../../errors.ts';
import { findRead } from '../../../warehouse/database/source-lock.ts';
import { fleetReport, type SourceGist } from '../../../warehouse/reports/fleet-report.ts';
import { mapSources } from '../../status/served-source.ts';
import { shownOrderState, shownRunState } from '../../status/shown-state.ts';
import { oldestTick } from '../../status/up-to-date.ts';
import type { ConsoleParts } from '../console-parts.ts';

/** What the overview shows of one source; a reason where it cannot be read, for example because its schema is gone. */
export type FleetSource = {
  readonly name: string;
  readonly timeZone: string;
} & (ReadableSource | { readonly unreadable: string });

export interface ReadableSource {
  readonly status: SourceGist;
  /** The oldest of the ticks that the resources were served last (epoch ms); null while one was never served, or none has a schedule. */
  readonly upToDateAt: number | null;
  readonly rows: number;
  /** Somebody reads it now. */
  readonly isRead: boolean;
}

/** All sources, in a few statements; their tables are counted only where they have changed. */
export async function readFleet({ database, sources, rowCounts, hide, log }: ConsoleParts): Promise<FleetSource[]> {
  const pairs = sources.flatMap(({ name, jobs }) => [...jobs.keys()].map(resource => ({ source: name, resource })));
  const gists = await fleetReport(database.kysely, pairs);
  const read = await findRead(
    database,
    sources.map(({ name }) => name),
  );
  return mapSources(sources, async source => {
    const { name, timeZone, scheduled } = source;
    const gist = gists.get(name);
    try {
      if (gist === undefined) throw new Error(`No resource of ${name} is configured.`);
      const isRead = read.has(name);
      const counts = await rowCounts(database.kysely, source, gist.cursors);
      const rows = [...counts.values()].reduce((sum, each) => sum + each, 0);
      const ticks = scheduled.map(resource => ({ resource, at: gist.ticks.get(resource) ?? null }));
      const upToDateAt = oldestTick(ticks);
      return { name, timeZone, rows, isRead, status: shown(gist, isRead), upToDateAt };
    } catch (error) {
      log.warn({ source: name, err: error }, 'could not read the state of a source');
      return { name, timeZone, unreadable: hide(explain(error)) };
    }
  });
}

/** A killed process cannot record that its runs have ended. */
function shown(gist: SourceGist, isRead: boolean): SourceGist {
  const presence = { isRead, isServed: true };
  return {
    ...gist,
    runs: gist.runs.map(run => ({ ...run, state: shownRunState(run.state, presence) })),
    orders: gist.orders.map(order => ({ ...order, state: shownOrderState(order.state, presence) })),
  };
}
