import { HOUR } from '../../clock.ts';
import { wants } from '../../engine/agenda/choice.ts';
import { pageSize, partition } from '../../engine/coverage/list.ts';
import { openResource } from '../../engine/resource.ts';
import { sliceText } from '../../engine/slices/slice.ts';
import { count, moment, plural } from '../../service/format.ts';
import { pendingMigrations } from '../../warehouse/database/migrate.ts';
import { zoneNote } from '../output/moments.ts';
import { table } from '../output/table.ts';
import { hasBookkeeping } from '../run/pending-migrations.ts';
import type { Range } from '../session/cli-options.ts';
import type { Session } from '../session/session.ts';
import { rangeText } from './range-text.ts';

const MOST_LINES = 40;

interface Part {
  readonly slice: string;
  /** Epoch milliseconds; null if never read. */
  readonly provenAt: number | null;
  readonly rows: number | null;
  readonly requests: number | null;
}

/** Estimates a backfill from the bookkeeping alone: it sends no request and changes nothing. */
export async function dryRun(session: Session, resource: string, range: Range): Promise<0> {
  const { terminal, settings } = session;
  const { parts, size } = await knownParts(session, resource, range);
  const known = parts.filter(part => part.rows !== null);
  const unknown = parts.length - known.length;
  const rows = known.reduce((sum, part) => sum + (part.rows ?? 0), 0);
  // Neighbouring slices are read together, padded by a day on both sides: about a tenth more than the rows alone.
  const requests = known.length === 0 ? 0 : Math.ceil((rows / size) * 1.1);
  const { limit = 1, windowMs = HOUR } = settings.sources[0] ?? {};
  const hours = (requests / limit) * (windowMs / HOUR);
  const document = {
    resource,
    ...range,
    slices: parts,
    total: { slices: parts.length, neverRead: unknown, rows, requests, hours: Math.round(hours * 100) / 100 },
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
      ...(known.length > 0 ? [zoneNote(settings.timeZone)] : []),
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

async function knownParts(session: Session, name: string, range: Range): Promise<{ parts: Part[]; size: number }> {
  const { settings, jobs } = session;
  const job = jobs.get(name);
  const database = await session.openDatabase();
  const known =
    (await hasBookkeeping(session, database)) && (await pendingMigrations(session.migrations(database))).length === 0;
  if (!known || !job) return { parts: [{ slice: 'all of it', provenAt: null, rows: null, requests: null }], size: 100 };
  const resource = await openResource(database, { source: settings.sourceName, name, job, schema: settings.schema });
  const wanted = partition(resource).filter(entry => wants(range, entry.slice));
  const parts = wanted.map(({ slice, provenAt, rows, requests }) => ({
    slice: sliceText(slice),
    provenAt,
    rows,
    requests: provenAt === null && rows === null ? null : requests,
  }));
  parts.sort((a, b) => (a.slice < b.slice ? 1 : -1));
  return { parts, size: pageSize(resource) };
}
