import { stampMs } from '../../../warehouse/database/stamp.ts';
import type { Incident } from '../../../warehouse/ledgers/incidents.ts';
import type { Run } from '../../../warehouse/ledgers/runs.ts';
import { PURPOSES } from '../../../warehouse/reports/activity.ts';
import type { SourceGist } from '../../../warehouse/reports/fleet-report.ts';
import { conditionOf } from '../../status/condition.ts';
import type { FleetSource } from '../overview/fleet.ts';
import { verdictOf } from '../overview/verdict.ts';
import type { MonthProof } from '../source/calendar.ts';
import { resourceWords } from '../source/resource-words.ts';
import type { DetailedSource } from '../source/source-detail.ts';
import type { OverviewDocument, SourceDocument } from './status-schema.ts';

type Hide = (text: string) => string;

const iso = (at: number): string => new Date(at).toISOString();
const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at));
const isoOfStamp = (stamp: string | null): string | null => (stamp === null ? null : iso(stampMs(stamp)));

/** All that the overview shows. `at`: epoch milliseconds. */
export function overviewDocument(sources: readonly FleetSource[], at: number, hide: Hide): OverviewDocument {
  const { text, rest } = verdictOf(sources, at);
  return { asOf: iso(at), verdict: { text, rest }, sources: sources.map(source => gistOf(source, hide)) };
}

function gistOf(source: FleetSource, hide: Hide): OverviewDocument['sources'][number] {
  const state = conditionOf(source);
  const none = { isRead: false, rows: 0, missing: 0, quarantined: 0, requestsLastHour: 0, openOrders: 0 };
  if ('unreadable' in source)
    return { ...none, name: source.name, state, reason: source.unreadable, upToDateAt: null, incidents: [], runs: [] };
  const { status, upToDateAt, isRead, rows } = source;
  return {
    name: source.name,
    state,
    reason: null,
    upToDateAt: isoOrNull(upToDateAt),
    isRead,
    rows,
    missing: status.missing,
    quarantined: status.quarantined,
    requestsLastHour: status.requests,
    incidents: status.incidents.map(incident => incidentOf(incident, hide)),
    runs: status.runs.map(run => runOf(run, hide)),
    openOrders: status.orders.length,
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

const runOf = ({ resource, kind, state, reason }: SourceGist['runs'][number], hide: Hide) => ({
  resource,
  kind,
  state,
  reason: reason === null ? null : hide(reason),
});

/** All that the page of a source shows. `at`: epoch milliseconds. */
export function sourceDocument(source: DetailedSource, at: number, hide: Hide): SourceDocument {
  const { name, timeZone, status, ticks, upToDateAt, nextTickAt, detail } = source;
  const { text, rest } = verdictOf([source], at);
  const { usage } = status;
  return {
    asOf: iso(at),
    verdict: { text, rest },
    name,
    timeZone,
    state: conditionOf(source),
    upToDateAt: isoOrNull(upToDateAt),
    nextTickAt: isoOrNull(nextTickAt),
    budget: usage && {
      limit: usage.limit,
      used: usage.used,
      free: usage.free,
      withheld: usage.withheld,
      nextFreeAt: isoOfStamp(usage.nextFreeAt),
      blockedUntil: isoOfStamp(usage.blockedUntil),
      byLane: usage.byLane,
    },
    incidents: status.incidents.map(incident => incidentOf(incident, hide)),
    resources: status.resources.map(row => {
      const tick = ticks.find(each => each.resource === row.resource);
      const given = status.delays.find(each => each.resource === row.resource);
      const schedule = { isScheduled: tick !== undefined, servedAt: tick?.at ?? null, timeZone };
      return {
        resource: row.resource,
        state: resourceWords(row, status, schedule).text,
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
    runs: status.runs.map(run => runOf(run, hide)),
    orders: status.orders.map(({ id, kind, resource, dateFrom, dateTo, state, progress }) => ({
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
    failures: status.recentFailures.map(run => failureOf(run, hide)),
    lastHour: [...status.lastHour],
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

const failureOf = (run: Run, hide: Hide) => ({
  ...runOf(run, hide),
  endedAt: isoOfStamp(run.endedAt),
  next: run.next === null ? null : hide(run.next),
});

const proofOf = (proof: MonthProof): string => (typeof proof === 'number' ? iso(proof) : proof);
