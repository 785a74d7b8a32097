import { count } from '../../service/format.ts';
import { pendingMigrations } from '../../warehouse/database/migrate.ts';
import { table } from '../output/table.ts';
import type { Session } from '../session/session.ts';
import { isOpen } from '../session/source-settings.ts';
import { estimateText } from './estimate-text.ts';
import { estimateWork, unknownWork, type Work, type WorkEstimate } from './estimate-work.ts';

/** Prints what a sync or verification would cost; sends no request and changes nothing. */
export async function showDryRun(session: Session, work: Work, most: number | null): Promise<0> {
  const { terminal, settings, clock } = session;
  const database = await session.openDatabase();
  const sources = settings.sources.filter(isOpen);
  const estimates: WorkEstimate[] = [];
  for (const source of sources) {
    const isReady = (await pendingMigrations(session.migrations(database, source.schema))).length === 0;
    const estimate = isReady
      ? await estimateWork(session, database, source, work)
      : unknownWork(source, work, clock.now());
    estimates.push(estimate);
  }
  terminal.show({ dryRun: true, sources: estimates, ...(most === null ? {} : { maxRequests: most }) }, () => {
    const lines = estimates.map((estimate, index) => {
      const rows = estimate.resources.map(({ resource, requests, neverRead }) => [
        resource,
        count(requests),
        count(neverRead),
      ]);
      const name = estimates.length > 1 ? [`Source ${estimate.source}`] : [];
      const drawn = table(terminal.colors, ['resource', 'requests', 'parts never read'], rows, { right: [1, 2] });
      return [...name, drawn, '', estimateText(estimate, sources[index]?.timeZone ?? 'UTC', most)].join('\n');
    });
    return [`Dry run of ${work.kind}: no request was sent and nothing changed.`, ...lines].join('\n\n');
  });
  return 0;
}
