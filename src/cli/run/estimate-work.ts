import { HOUR, SECOND } from '../../clock.ts';
import { countUnread, isAffordable, rereadCost } from '../../engine/agenda/affordable.ts';
import { monthsHold } from '../../engine/agenda/past-months.ts';
import { type Job, slicingOf } from '../../engine/job.ts';
import { openResource } from '../../engine/resource.ts';
import { count, plural } from '../../service/format.ts';
import { finishTime, type Pace, paceOf } from '../../service/orders/order-cost.ts';
import type { OrderRequest } from '../../service/orders/order-requests.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { momentWithZone } from '../output/moments.ts';
import { table } from '../output/table.ts';
import { isOpen, type OpenSource, type Session } from '../session/session.ts';
import { openLedger } from '../session/source-settings.ts';
import { listPending } from './pending-migrations.ts';

type WorkEstimate = ReturnType<typeof summariseWork>;

/** Without waiting, a request takes about this long: an answer, and its share of a commit. */
const REQUEST_MS = SECOND / 2;

/** Estimates from the bookkeeping alone; sends no request. `database`: null while its tables are not up to date. */
export async function estimateWork(
  { jobs, clock }: Pick<Session, 'jobs' | 'clock'>,
  database: Database | null,
  source: OpenSource,
  orders: readonly OrderRequest[],
): Promise<WorkEstimate> {
  const { name, schema, limit, windowMs } = source;
  const now = database ? await databaseNow(database) : clock.now();
  // A verification reads everything; a sync does if it was asked to.
  const isWhole = orders.every(({ kind, whole }) => kind === 'verify' || whole);
  const cost = async (resource: string) => {
    if (!database) return { requests: 0, neverRead: 1 };
    const open = (named: string, job: Job) => openResource(database.kysely, { source: name, name: named, job, schema });
    const job = jobs.get(resource) as Job;
    const list = await open(resource, job);
    const summed = [...jobs].filter(([each]) => each in (slicingOf(job, 'month')?.sumsUp ?? {}));
    const others = await Promise.all(summed.map(each => open(...each)));
    const holds = !isWhole && monthsHold(list, others, now);
    return { requests: rereadCost(list, Number.POSITIVE_INFINITY, holds), neverRead: countUnread(list) };
  };
  const resources = [];
  for (const { resource } of orders) resources.push({ resource, ...(await cost(resource)) });
  const usage = database ? await openLedger(database, source).usage() : null;
  const facts = { ...paceOf(source, usage), hourly: (limit * HOUR) / windowMs, free: usage?.free ?? limit };
  return summariseWork(name, resources, facts, isWhole, now);
}

export function summariseWork(
  source: string,
  resources: readonly { readonly resource: string; readonly requests: number; readonly neverRead: number }[],
  facts: Pace & { readonly hourly: number; readonly free: number },
  isWhole: boolean,
  now: number,
) {
  const { free, limit } = facts;
  const all = resources.reduce((sum, each) => sum + each.requests, 0);
  // Parts whose cost is not known. While there is one, a sync reads it before it decides.
  const neverRead = resources.reduce((sum, each) => sum + each.neverRead, 0);
  // `part`: what is left of the limit is spent where changes are likeliest.
  const reads = isWhole || neverRead > 0 || isAffordable(all, facts) ? 'everything' : 'part';
  const requests = reads === 'part' ? Math.min(all, free) : all;
  const waiting = requests - free;
  const finishesAt = waiting > 0 ? finishTime(waiting, facts, now) : Math.round(now + requests * REQUEST_MS);
  return { source, reads, resources, requests, neverRead, free, limit, finishesAt: neverRead > 0 ? null : finishesAt };
}

/** What the work costs and when it will be done, in one or two sentences. `most`: --max-requests. */
export function estimateText(estimate: WorkEstimate, timeZone: string, most?: number): string {
  const { reads, requests, neverRead, free, limit, finishesAt, resources } = estimate;
  const left = `${count(free)} of ${count(limit)} are left now`;
  const bound = most === undefined ? '' : ` It stops after ${plural(most, 'request')}.`;
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
export async function showDryRun(session: Session, orders: readonly OrderRequest[], most?: number): Promise<0> {
  const { command, terminal, settings } = session;
  const database = await session.openDatabase();
  const sources = settings.sources.filter(isOpen);
  const estimates: WorkEstimate[] = [];
  for (const source of sources) {
    const isReady = (await listPending(session, database, { sources: [source] })).length === 0;
    estimates.push(await estimateWork(session, isReady ? database : null, source, orders));
  }
  terminal.show({ dryRun: true, sources: estimates, maxRequests: most }, () => {
    const lines = estimates.map((estimate, index) => {
      const rows = estimate.resources.map(each => [each.resource, count(each.requests), count(each.neverRead)]);
      const name = estimates.length > 1 ? [`Source ${estimate.source}`] : [];
      const drawn = table(terminal.colors, ['resource', 'requests', 'parts never read'], rows, { right: [1, 2] });
      return [...name, drawn, '', estimateText(estimate, sources[index]?.timeZone ?? 'UTC', most)].join('\n');
    });
    return [`Dry run of ${command}: no request was sent and nothing changed.`, ...lines].join('\n\n');
  });
  return 0;
}
