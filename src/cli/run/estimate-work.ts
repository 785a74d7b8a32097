import { HOUR, SECOND } from '../../clock.ts';
import { countUnread, isAffordable, rereadCost } from '../../engine/agenda/affordable.ts';
import { monthsHold } from '../../engine/agenda/closed-months.ts';
import { type Job, slicingOf } from '../../engine/job.ts';
import { openResource } from '../../engine/resource.ts';
import { count, plural } from '../../service/format.ts';
import { finishTime, paceOf } from '../../service/orders/order-cost.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { momentWithZone } from '../output/moments.ts';
import { table } from '../output/table.ts';
import type { Session } from '../session/session.ts';
import { isOpen, type OpenSource, openLedger } from '../session/source-settings.ts';
import { listPending } from './pending-migrations.ts';

export interface Work {
  readonly kind: 'sync' | 'verify';
  readonly resources: readonly string[];
  /** A sync that reads everything, or a verification, which always does. */
  readonly whole: boolean;
}

interface WorkEstimate {
  readonly source: string;
  /** `part`: what is left of the limit is spent where changes are likeliest. */
  readonly reads: 'everything' | 'part';
  readonly resources: readonly { readonly resource: string; readonly requests: number; readonly neverRead: number }[];
  /** Requests that the known parts take. */
  readonly requests: number;
  /** Parts that were never read: their cost is not known. */
  readonly neverRead: number;
  /** Requests that may be sent now, of the limit. */
  readonly free: number;
  readonly limit: number;
  /** Epoch milliseconds; null while a part was never read. */
  readonly finishesAt: number | null;
}

/** Without waiting, a request takes about this long: an answer, and its share of a commit. */
const REQUEST_MS = SECOND / 2;

/** Estimates from the bookkeeping alone; sends no request. */
export async function estimateWork(
  { jobs }: Pick<Session, 'jobs'>,
  database: Database,
  source: OpenSource,
  work: Work,
): Promise<WorkEstimate> {
  const { name, schema, limit, windowMs } = source;
  const now = await databaseNow(database);
  const resources: WorkEstimate['resources'][number][] = [];
  const open = (named: string, job: Job) => openResource(database, { source: name, name: named, job, schema });
  for (const resource of work.resources) {
    const job = jobs.get(resource);
    if (!job) continue;
    const list = await open(resource, job);
    const summed = [...jobs].filter(([each]) => each in (slicingOf(job, 'month')?.sumsUp ?? {}));
    const others = await Promise.all(summed.map(each => open(...each)));
    const holds = !work.whole && monthsHold(list, others, now);
    resources.push({
      resource,
      requests: rereadCost(list, Number.POSITIVE_INFINITY, holds),
      neverRead: countUnread(list),
    });
  }
  const usage = await openLedger(database, name, source.settings).usage();
  const pace = paceOf(source, usage);
  const facts = { hourly: (limit * HOUR) / windowMs, free: usage.free };
  return summarise(name, resources, { ...pace, ...facts }, work, now);
}

/** What nothing is known of yet. */
const unknownWork = (source: OpenSource, work: Work, now: number): WorkEstimate => {
  const { limit, windowMs } = source;
  const resources = work.resources.map(resource => ({ resource, requests: 0, neverRead: 1 }));
  const facts = { hourly: (limit * HOUR) / windowMs, free: limit, limit, windowMs, nextFreeAt: null };
  return summarise(source.name, resources, facts, work, now);
};

export function summarise(
  source: string,
  resources: WorkEstimate['resources'],
  facts: { hourly: number; free: number; limit: number; windowMs: number; nextFreeAt: number | null },
  { kind, whole }: Work,
  now: number,
): WorkEstimate {
  const { free, limit } = facts;
  const all = resources.reduce((sum, each) => sum + each.requests, 0);
  const neverRead = resources.reduce((sum, each) => sum + each.neverRead, 0);
  // While a part was never read, a sync reads it before it decides.
  const reads = kind === 'verify' || whole || neverRead > 0 || isAffordable(all, facts) ? 'everything' : 'part';
  const requests = reads === 'part' ? Math.min(all, free) : all;
  const waiting = requests - free;
  const finishesAt = waiting > 0 ? finishTime(waiting, facts, now) : Math.round(now + requests * REQUEST_MS);
  return { source, reads, resources, requests, neverRead, free, limit, finishesAt: neverRead > 0 ? null : finishesAt };
}

/** What the work costs and when it will be done, in one or two sentences. `most`: --max-requests. */
export function estimateText(estimate: WorkEstimate, timeZone: string, most: number | null): string {
  const { reads, requests, neverRead, free, limit, finishesAt, resources } = estimate;
  const left = `${count(free)} of ${count(limit)} are left now`;
  const bound = most === null ? '' : ` It stops after ${plural(most, 'request')}.`;
  if (finishesAt === null) {
    const known = requests > 0 ? `Takes at least ${plural(requests, 'request')}` : 'The cost is not known yet';
    return `${known} (${plural(neverRead, 'part')} ${neverRead === 1 ? 'was' : 'were'} never read); ${left}.${bound}`;
  }
  if (reads === 'everything')
    return `Takes about ${plural(requests, 'request')}, until about ${momentWithZone(finishesAt, timeZone)}; ${left}.${bound}`;
  const all = resources.reduce((sum, each) => sum + each.requests, 0);
  const part = free > 0 ? 'reads where changes are likeliest and does not wait' : 'reads nothing and does not wait';
  return `Reading everything again would take about ${plural(all, 'request')}; ${left}, so this ${part}.${bound}`;
}

/** Prints what a sync or verification would cost; sends no request and changes nothing. */
export async function showDryRun(session: Session, work: Work, most: number | null): Promise<0> {
  const { terminal, settings, clock } = session;
  const database = await session.openDatabase();
  const sources = settings.sources.filter(isOpen);
  const estimates: WorkEstimate[] = [];
  for (const source of sources) {
    const isReady = (await listPending(session, database, [source])).length === 0;
    estimates.push(
      isReady ? await estimateWork(session, database, source, work) : unknownWork(source, work, clock.now()),
    );
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
