import { Hono } from 'hono';
import { stampMs } from '../../../clock.ts';
import { databaseNow } from '../../../warehouse/database/now.ts';
import type { Incident } from '../../../warehouse/ledgers/incidents.ts';
import type { Run } from '../../../warehouse/ledgers/runs.ts';
import { PURPOSES } from '../../../warehouse/reports/activity.ts';
import { conditionOf, resourceBadge, verdictOf } from '../../status/condition.ts';
import { type FullState, type SourceState, sumOf } from '../../status/source-state.ts';
import { type ConsoleParts, readSources } from '../console-parts.ts';
import type { MonthProof } from '../source/calendar.ts';
import { readDetailedSource, type SourceDetail } from '../source/source-page.ts';
import { OPEN_API } from './open-api.ts';
import type { OverviewDocument, SourceDocument } from './status-schema.ts';

/** The state for programs: what the pages show. */
export function statusRoutes(parts: ConsoleParts): Hono {
  const { database, sources, hide } = parts;
  return new Hono()
    .get('/openapi.json', c => c.json(OPEN_API))
    .get('/status.json', async c => {
      const name = c.req.query('source');
      const at = await databaseNow(database);
      if (name === undefined) return c.json(overviewDocument(await readSources(parts), at, hide));
      const source = sources.find(each => each.name === name);
      if (source === undefined) return c.text(`There is no source "${name}".\n`, 404);
      const { state, detail } = await readDetailedSource(parts, source, at);
      if (detail === null) return c.text(`${state.unreadable}\n`, 503);
      return c.json(sourceDocument(state, detail, at, hide));
    });
}

type Hide = (text: string) => string;

const iso = (at: number): string => new Date(at).toISOString();
const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at));
const isoOfStamp = (stamp: string | null): string | null => (stamp === null ? null : iso(stampMs(stamp)));

/** All that the overview shows. `at`: epoch milliseconds. */
function overviewDocument(sources: readonly SourceState[], at: number, hide: Hide): OverviewDocument {
  const { text, rest } = verdictOf(sources, at);
  return { asOf: iso(at), verdict: { text, rest }, sources: sources.map(source => gistOf(source, hide)) };
}

function gistOf(source: SourceState, hide: Hide): OverviewDocument['sources'][number] {
  return {
    name: source.name,
    state: conditionOf(source),
    reason: source.unreadable,
    upToDateAt: isoOrNull(source.upToDateAt),
    isRead: source.reader !== null,
    rows: sumOf(source.resources, 'rows'),
    missing: sumOf(source.resources, 'missing'),
    quarantined: sumOf(source.resources, 'quarantined'),
    requestsLastHour: source.requests,
    incidents: source.incidents.map(incident => incidentOf(incident, hide)),
    runs: source.runs.map(run => runOf(run, hide)),
    openOrders: source.orders.length,
  };
}

const incidentOf = ({ source, resource, kind, message, next, openedAt }: Incident, hide: Hide) => ({
  source,
  resource,
  kind,
  message: hide(message),
  next: next === null ? null : hide(next),
  openedAt: iso(stampMs(openedAt)),
});

const runOf = ({ resource, kind, state, reason }: Run, hide: Hide) => ({
  resource,
  kind,
  state,
  reason: reason === null ? null : hide(reason),
});

/** All that the page of a source shows. `at`: epoch milliseconds. */
function sourceDocument(source: FullState, detail: SourceDetail, at: number, hide: Hide): SourceDocument {
  const { name, timeZone, upToDateAt, usage } = source;
  const { text, rest } = verdictOf([source], at);
  return {
    asOf: iso(at),
    verdict: { text, rest },
    name,
    timeZone,
    state: conditionOf(source),
    upToDateAt: isoOrNull(upToDateAt),
    nextTickAt: isoOrNull(detail.nextTickAt),
    budget: usage && {
      limit: usage.limit,
      used: usage.used,
      free: usage.free,
      withheld: usage.withheld,
      nextFreeAt: isoOfStamp(usage.nextFreeAt),
      blockedUntil: isoOfStamp(usage.blockedUntil),
      byLane: usage.byLane,
    },
    incidents: source.incidents.map(incident => incidentOf(incident, hide)),
    resources: source.resources.map(row => {
      const given = source.delays.find(each => each.resource === row.resource);
      return {
        resource: row.resource,
        state: resourceBadge(row, source).text,
        rows: row.rows,
        newestChangeAt: isoOfStamp(row.newestChange),
        oldestProofAt: isoOfStamp(row.oldestProof),
        slices: row.slices,
        neverRead: row.neverRead,
        missing: row.missing,
        quarantined: row.quarantined,
        end: row.end,
        delay: given
          ? {
              expectedSeconds: given.expected?.meanSeconds ?? null,
              within95Seconds: given.expected?.within95Seconds ?? null,
              measuredSeconds: given.measuredSeconds,
              targetSeconds: given.targetSeconds,
            }
          : null,
      };
    }),
    runs: source.runs.map(run => runOf(run, hide)),
    orders: source.orders.map(({ id, kind, resource, dateFrom, dateTo, state, progress }) => ({
      id,
      kind,
      resource,
      from: dateFrom,
      to: dateTo,
      state,
      slices: progress.slices,
      proven: progress.proven,
      requestsLeft: progress.requestsLeft,
    })),
    failures: source.recentFailures.map(run => ({
      ...runOf(run, hide),
      endedAt: isoOfStamp(run.endedAt),
      next: run.next === null ? null : hide(run.next),
    })),
    lastHour: [...source.lastHour],
    calendar: [...detail.calendars].map(([resource, { years, earlier }]) => ({
      resource,
      years: years.map(({ year, months }) => ({ year, months: months.map(proofOf) })),
      earlier: earlier === null ? null : proofOf(earlier),
    })),
    changes: [...detail.changes],
    requests: detail.requests.map(hour => ({
      hourAt: iso(hour.at),
      ...Object.fromEntries(PURPOSES.map(purpose => [purpose, hour[purpose]])),
    })),
    agenda: {
      questions: [...detail.agenda.questions],
      more: detail.agenda.more,
      unread: [...detail.agenda.unread],
    },
    profile: [...detail.profile],
  };
}

const proofOf = (proof: MonthProof): string => (typeof proof === 'number' ? iso(proof) : proof);
