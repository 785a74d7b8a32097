import { withAnySignal } from '../../any-signal.ts';
import { MINUTE, SECOND } from '../../clock.ts';
import { oldestOf } from '../../engine/coverage/list.ts';
import { groupBy } from '../../engine/group-by.ts';
import { sliceText } from '../../engine/slices/slice.ts';
import { SluiceError } from '../../errors.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { type Order, readOrders } from '../../warehouse/ledgers/orders.ts';
import { showsAllWritten } from '../../warehouse/reports/replica.ts';
import { durationText, plural, shortDuration } from '../format.ts';
import { finishTime, paceOf } from '../orders/order-cost.ts';
import { changeOrder, placeOrder } from '../orders/order-requests.ts';
import { namedText } from '../orders/refresh.ts';
import { type ListRead, listsRead, type Query, type QueryPlace, type QuerySource } from './lists-read.ts';

/** How old an answer may be, and what may be spent on that. */
export interface Freshness {
  readonly maxAgeMs: number;
  readonly mostRequests: number;
  readonly waitMs: number;
}

/** Seconds that a query may wait for its answer, unless more are allowed. */
export const MOST_WAIT_S = 30;

/** The age of an answer, as far as it can be told. */
export interface AnswerAge {
  /** What the query reads; null where that cannot be told. */
  readonly lists: readonly ListRead[] | null;
  /** The database's time when that was found out (epoch ms). */
  readonly at: number;
  /** Requests spent to make it fresh. */
  readonly requests: number;
}

/** Has these orders carried out, and returns once they have ended. */
export type Complete = (source: QuerySource, orders: readonly Order[], signal: AbortSignal) => Promise<void>;

/**
 * How old the answer to a query is. With `freshness`, what is older is read again first. Kind `usage` where that would cost more than is
 * allowed, or needs longer; then no request is sent. Kind `failed` where it could not be made fresh.
 */
export async function answerAge(
  place: QueryPlace & { readonly complete: Complete },
  query: Query,
  freshness: Freshness | null,
): Promise<AnswerAge> {
  const begun = await databaseNow(place.database);
  let lists = await listsRead(place, query);
  if (freshness === null) return { lists: (await showsAllWritten(place, 0)) ? lists : null, at: begun, requests: 0 };
  if (lists === null)
    throw new SluiceError('usage', 'What this statement reads cannot be told, so neither can its age.', {
      next: 'Send one SELECT, or omit --max-age.',
    });
  const notBefore = begun - freshness.maxAgeMs;
  const started = performance.now();
  // What is dated ahead was read before the database's clock was put back.
  const isAhead = (at: number) => at > begun + performance.now() - started + MINUTE;
  const isOld = ({ asOf, unsettled }: ListRead) => (asOf ?? 0) < notBefore || isAhead(asOf ?? 0) || unsettled > 0;
  const until = started + freshness.waitMs;
  let requests = 0;
  for (let turn = 1; ; turn++) {
    const old = lists.filter(isOld);
    const [first] = old;
    if (first === undefined) {
      if (!(await showsAllWritten(place, until - performance.now()))) throw lagsBehind();
      return { lists, at: await databaseNow(place.database), requests };
    }
    // An equal order may have been under way, which began too early. What two readings do not settle takes longer.
    const doubted = old.find(({ unsettled }) => unsettled > 0);
    if (turn > MOST_TURNS || (turn > 2 && doubted)) throw stillOld(doubted ?? first, notBefore);
    const costs = new Map<ListRead, number>();
    for (const list of old) costs.set(list, await list.cost());
    refuse(costs, freshness, begun, requests);
    const bySource = [...groupBy(old, ({ source }) => source)];
    for (const [source, ofSource] of bySource) {
      const cost = ofSource.reduce((sum, list) => sum + (costs.get(list) ?? 0), 0);
      await refuseToWait(source, cost, freshness.waitMs, begun, requests);
    }
    for (const [source, ofSource] of bySource)
      requests += await carryOut(place, source, ofSource, { waitMs: freshness.waitMs, until });
    lists = (await listsRead(place, query)) ?? [];
  }
}

const lagsBehind = (): SluiceError =>
  new SluiceError('failed', 'The server that answers queries is a replica, and lags behind the warehouse.', {
    next: 'Ask again, allow more time (--wait), or let READER_DATABASE_URL name the server that Sluice writes to.',
  });

/** How often a list is read again for one answer: a record may be sought among the newest rows first. */
const MOST_TURNS = 3;

/** Kind `usage`; `failed` if some requests were spent, and did not suffice. */
function refuse(
  costs: ReadonlyMap<ListRead, number>,
  { maxAgeMs, mostRequests }: Freshness,
  now: number,
  spent: number,
): void {
  const kind = spent === 0 ? 'usage' : 'failed';
  const old = [...costs.keys()];
  const unread = old.find(({ asOf }) => asOf === null);
  if (unread)
    throw new SluiceError(kind, `${whyUnread(unread)}, so no answer from it is complete.`, {
      next: unread.isOpen
        ? 'Ask without --max-age. If the list comes in the order of ids, records by id can be asked for with it, too.'
        : `Read it first: sluice sync ${unread.resource}`,
    });
  const requests = [...costs.values()].reduce((sum, cost) => sum + cost, 0);
  if (spent + requests <= mostRequests) return;
  const oldest = oldestAmong(old);
  const what = old.map(({ resource, targets }) => `${resource} (${targets.map(namedText).join(', ')})`).join(' and ');
  const age = shortDuration(now - (oldest?.asOf ?? now));
  throw new SluiceError(
    kind,
    `The answer is ${age} old. To make it ${shortDuration(maxAgeMs)} old at most, ${what} must be read again: about ${plural(requests, 'request')}, and at most ${mostRequests} are allowed. ${sentText(spent)}`,
    {
      next: `Ask for less: records by id, a customer (customer_id = 17) or days (date >= '2025-03-01'). Or allow ${spent + requests} requests (--max-requests; maxRequests in POST /query).`,
    },
  );
}

const sentText = (spent: number): string =>
  spent === 0 ? 'None was sent.' : `${plural(spent, 'request')} did not suffice.`;

/** Kind `quota` where the request limit does not pay for the readings soon enough. */
async function refuseToWait(
  source: QuerySource,
  requests: number,
  waitMs: number,
  now: number,
  spent: number,
): Promise<void> {
  const usage = await source.usage();
  if (usage === null) return;
  const waits = requests > usage.free ? finishTime(requests - usage.free, paceOf(source.rules, usage), now) - now : 0;
  if (waits <= waitMs) return;
  throw new SluiceError(
    'quota',
    `Reading it again takes about ${plural(requests, 'request')}, ${usage.free} of the limit are left, and the others are free in about ${durationText(waits / SECOND)}. ${sentText(spent)}`,
    { next: `Accept an older answer (--max-age), or wait for it: --wait ${Math.ceil(waits / SECOND)}.` },
  );
}

/** Has the lists read again, and returns the requests that this took. What was ordered for this query and does not end in time is cancelled. */
async function carryOut(
  { database, signal, complete }: QueryPlace & { readonly complete: Complete },
  source: QuerySource,
  old: readonly ListRead[],
  { waitMs, until }: { readonly waitMs: number; readonly until: number },
): Promise<number> {
  const since = await databaseNow(database);
  // So that they can be cancelled when the time is up; whoever completes them adopts them.
  const orders: Order[] = [];
  for (const { resource, targets } of old)
    orders.push(
      await placeOrder(database, source.name, { resource, kind: 'refresh', targets: targets.map(sliceText) }),
    );
  const late = AbortSignal.timeout(Math.max(Math.ceil(until - performance.now()), 1));
  try {
    await withAnySignal([signal, late], ended => complete(source, orders, ended.signal));
  } catch (error) {
    // Others may wait for an equal order that was open before.
    for (const order of orders) if (order.createdAt >= since) await changeOrder(database, order, 'cancel');
    if (!late.aborted || signal.aborted) throw error;
  }
  const ended = await readOrders(
    database.kysely,
    orders.map(({ id }) => id),
  );
  // What others cancelled is ordered again.
  const failed = ended.find(({ state }) => state !== 'done' && (late.aborted || state !== 'cancelled'));
  if (failed && late.aborted)
    throw new SluiceError(
      'failed',
      `${failed.resource} was not read within ${durationText(waitMs / SECOND)}, so there is no answer.`,
      { next: 'What was read is kept. To wait longer: --wait <seconds>.' },
    );
  if (failed)
    throw new SluiceError('failed', `${failed.resource} could not be read: ${failed.reason ?? failed.state}`, {
      next: 'Without --max-age the query answers from what is stored.',
    });
  return ended.reduce((sum, { requests }) => sum + requests, 0);
}

const stillOld = ({ resource, unsettled, asOf }: ListRead, notBefore: number): SluiceError =>
  new SluiceError(
    'failed',
    unsettled > 0
      ? `${plural(unsettled, 'row')} of ${resource} may be gone, which is not proven yet, so there is no answer.`
      : `${resource} was read, but is only known to be equal as of ${shortDuration(notBefore - (asOf ?? 0))} before the oldest moment allowed.`,
    { next: 'The next sync settles it. Without --max-age the query answers from what is stored.' },
  );

const whyUnread = ({ resource, isOpen }: ListRead): string =>
  isOpen ? `${resource} may hold more rows than the source shows` : `${resource} was not read in full yet`;

/** `As of 40 s ago`, with the list that was compared longest ago; null where the query reads none. */
export function ageText({ lists, at, requests }: AnswerAge): string | null {
  if (lists === null || lists.length === 0) return null;
  const spent = requests > 0 ? `; ${plural(requests, 'request')}` : '';
  const unread = lists.find(({ asOf }) => asOf === null);
  if (unread) return `${whyUnread(unread)}, so this may lack rows${spent}.`;
  const oldest = oldestAmong(lists);
  const { unsettled, quarantined, held } = doubtsOf(lists);
  const excepted = [
    quarantined > 0 ? `${plural(quarantined, 'record')} in quarantine` : [],
    held > 0 ? `held values of ${plural(held, 'row')}` : [],
  ].flat();
  const except = excepted.length > 0 ? `, except ${excepted.join(' and ')}` : '';
  const doubt = unsettled > 0 ? `; ${plural(unsettled, 'row')} may be gone, which is not proven yet` : '';
  const name = lists.length > 1 ? ` (${oldest?.resource})` : '';
  return `As of ${shortDuration(at - (oldest?.asOf ?? at))} ago${name}${except}${doubt}${spent}.`;
}

const oldestAmong = (lists: readonly ListRead[]): ListRead | undefined =>
  [...lists].sort((a, b) => (a.asOf ?? 0) - (b.asOf ?? 0))[0];

/**
 * Of what the query reads: rows of which it is not proven yet whether they are gone, records that could not be read, and rows with values that are kept
 * although the source shows none.
 */
export function doubtsOf(lists: readonly ListRead[] | null) {
  const sumOf = (name: 'unsettled' | 'quarantined' | 'held') =>
    (lists ?? []).reduce((sum, list) => sum + list[name], 0);
  return { unsettled: sumOf('unsettled'), quarantined: sumOf('quarantined'), held: sumOf('held') };
}

/** As of when all that the query reads equals the source (epoch ms); null where that cannot be told. */
export const asOf = ({ lists }: AnswerAge): number | null =>
  lists === null ? null : oldestOf(lists.map(each => ({ provenAt: each.asOf })));
