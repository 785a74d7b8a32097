import { HOUR } from '../../clock.ts';
import { count, moment, plural } from '../../service/format.ts';
import { estimateReading, type ReadingEstimate, UNREAD } from '../../service/orders/order-cost.ts';
import { type Range, rangeText } from '../../service/orders/order-range.ts';
import { pendingMigrations } from '../../warehouse/database/migrate.ts';
import { zoneNote } from '../output/moments.ts';
import { table } from '../output/table.ts';
import { hasBookkeeping } from '../run/pending-migrations.ts';
import type { Session } from '../session/session.ts';

const MOST_LINES = 40;

/** Estimates a backfill from the bookkeeping alone: it sends no request and changes nothing. */
export async function dryRun(session: Session, resource: string, range: Range): Promise<0> {
  const { terminal, settings } = session;
  const { parts, neverRead, rows, requests } = await estimate(session, resource, range);
  const { limit = 1, windowMs = HOUR } = settings.sources[0] ?? {};
  const hours = (requests / limit) * (windowMs / HOUR);
  const document = {
    resource,
    ...range,
    slices: parts,
    total: { slices: parts.length, neverRead, rows, requests, hours: Math.round(hours * 100) / 100 },
  };
  terminal.show(document, () => {
    const lines = parts
      .slice(0, MOST_LINES)
      .map(part => [
        part.slice,
        part.provenAt === null ? 'never read' : moment(part.provenAt, settings.timeZone),
        part.rows === null ? '?' : count(part.rows),
        part.requests === null ? '?' : count(part.requests),
      ]);
    const more = parts.length - lines.length;
    return [
      `Backfill of ${resource}, ${rangeText(range)}: ${plural(parts.length, 'slice')}. Dry run: no request was sent and nothing changed.`,
      '',
      table(terminal.colors, ['slice', 'last read', 'rows', 'requests'], lines, { right: [2, 3] }),
      ...(more > 0 ? [`and ${count(more)} more (--json shows all)`] : []),
      '',
      costText(document.total),
      ...(neverRead < parts.length ? [zoneNote(settings.timeZone)] : []),
    ].join('\n');
  });
  return 0;
}

function costText(total: { slices: number; neverRead: number; rows: number; requests: number; hours: number }): string {
  const { rows, requests, hours } = total;
  const duration = hours < 0.1 ? 'a few minutes' : `${hours.toFixed(1)} hours`;
  const known = `About ${plural(requests, 'request')} for ${plural(rows, 'row')}; at the request limit that takes ${duration}.`;
  if (total.neverRead === 0) return known;
  const unread = `${plural(total.neverRead, 'slice')} ${total.neverRead === 1 ? 'was' : 'were'} never read; the cost of ${total.neverRead === 1 ? 'it' : 'those'} is not known yet.`;
  return total.neverRead === total.slices ? unread : `${known}\n${unread}`;
}

async function estimate(session: Session, name: string, range: Range): Promise<ReadingEstimate> {
  const { settings, jobs } = session;
  const job = jobs.get(name);
  const database = await session.openDatabase();
  const isReady =
    (await hasBookkeeping(session, database)) && (await pendingMigrations(session.migrations(database))).length === 0;
  if (!isReady || !job) return UNREAD;
  return estimateReading(database, { source: settings.sourceName, name, job, schema: settings.schema }, range);
}
