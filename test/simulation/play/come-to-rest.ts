import { isListFault } from '../../../sandbox/faults/fault-kinds.ts';
import { DAY, SECOND } from '../../../src/clock.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { databaseNow } from '../../../src/warehouse/database/now.ts';
import { createOrder } from '../../../src/warehouse/ledgers/orders.ts';
import { differences } from '../../support/compare.ts';
import { MAIN } from '../../support/resources.ts';
import { OWN, shownIn } from '../plan/choose-declarations.ts';
import { isCut, mustTell } from '../plan/choose-variants.ts';
import { type Action, faultOf, isHuge, type Plan, rowsPerRequest } from '../plan/plan.ts';
import { differingFields } from './check-declared.ts';
import { jobsRead } from './declare.ts';
import { evidenceOf } from './evidence.ts';
import { maskedSource } from './masked.ts';
import { checkAllEnded, placeOrders } from './orders.ts';
import { LAG_MS } from './process.ts';
import { needsSuccessor, serve } from './serve.ts';
import { change } from './source-changes.ts';
import { isTable, writesSeen } from './watch.ts';
import type { World } from './world.ts';

/** The source no longer changes: a sync, or a repair if the limit is too small for a sync, must leave both equal, and a further sync must write nothing. */
export async function comeToRest(world: World): Promise<void> {
  const { plan, database, sandbox, clock, problems, watch } = world;
  // Undetectable faults would keep changing what the source shows.
  sandbox.forgetFaults();
  // Two responses in a row that are too large end a request with an error. Every tenth is, so two in a row are likely.
  if (isListFault(faultOf(plan)) || isHuge(faultOf(plan))) sandbox.setVariants({ fault: 'none' });
  // A list that the key may not read, or that always fails, fails in every run; at rest, each list answers.
  sandbox.setVariants({ forbidden: 'none', 'failing-list': 'none' });
  // An answer that lags behind would differ from its count by another number.
  if (countsWrongly(plan)) await clock.advance(LAG_MS + SECOND);
  await findCountsWrong(world, 'sync');
  // A month that begins now would be a row that no reading has requested yet.
  if (plan.others.includes('financial_summaries')) {
    // The clock of the database may have been put back: the month begins there, too, which the engine goes by.
    const own = await databaseNow(database);
    const isNear = restOfMonth(sandbox.now()) <= DAY || monthOf(own) < monthOf(sandbox.now());
    if (isNear) await clock.advance(restOfMonth(own));
  }
  const affordable = requestsForAll(plan) <= (plan.limit * 3_600_000) / plan.windowMs / 2;
  if (affordable) await endEqual(world, 'sync');
  if (problems.length > 0) return;
  if (!affordable || plan.repairs) {
    if (affordable) change(world, world.random.int(1, 12));
    // Of a list that hid no row before, the count is wrong only now.
    await findCountsWrong(world, 'repair');
    await endEqual(world, 'repair');
  }
  if (problems.length > 0) return;

  if (!mustTell(plan.variants)) {
    const before = await writesSeen(database);
    await clock.advance(SECOND);
    const further = await finish(world, 'sync');
    if (further.some(state => !isDone(state)) && !looksCut(further))
      problems.push(`a further sync ended ${further.join(' | ')}`);
    const after = await writesSeen(database);
    if (after !== before) problems.push(`a further sync wrote rows:\n${before}\nbecame\n${after}`);
  }

  await watch.done();
  const { maxInWindow, rejected, failures } = sandbox.stats;
  const alone = sandbox.variants['shared-key'] === 'no' && plan.actions.every(action => action.spent === 0);
  if (alone && maxInWindow > plan.limit) problems.push(`${maxInWindow} requests in a window of ${plan.limit}`);
  // A limit that only refusals report is not known before.
  const isTold = sandbox.variants['rate-length'] === 'as-set' || sandbox.variants['rate-headers'] === 'always';
  if (alone && isTold && rejected > 0) problems.push(`${rejected} requests were rejected with 429`);
  for (const failure of failures) problems.push(`the sandbox itself failed: ${String(failure)}`);
}

/** Tasks after which a count that was always wrong is no longer asked to agree: three that find it, and some that meet a fault. */
const DOUBTS = 5;

async function findCountsWrong(world: World, kind: 'sync' | 'repair'): Promise<void> {
  if (countsWrongly(world.plan)) for (let runs = 0; runs < DOUBTS; runs++) await finish(world, kind, { whole: true });
}

const countsWrongly = ({ variants: { totals, pages } }: Plan): boolean =>
  totals === 'with-deleted' || totals === 'doubled' || pages === 'thinned';

const monthOf = (at: number): string => new Date(at).toISOString().slice(0, 7);

/** Milliseconds left of the month. */
function restOfMonth(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) - now;
}

/** A list with exactly as many rows as sources are known to stop at (at least 10) looks truncated, and the run says so. */
const looksCut = (states: readonly string[]): boolean =>
  states.some(state => /returned exactly \d{2,} rows and no further page/.test(state));

/** Done, or failed only because the list is known to be cut off: a row that leaves its end as another comes looks like that, too. */
const isDone = (state: string): boolean => state === 'done' || /^The source shows at most \d+ rows of /.test(state);

/** When something began, and the requests that had been sent by then. */
export interface Begun {
  readonly at: number;
  readonly sent: number;
}

export const beginning = ({ clock, sandbox }: World): Begun => ({ at: clock.now(), sent: sandbox.stats.total });

/** What the rows do not explain must not be requested, whatever the source answers. */
export function checkRequests({ plan, clock, sandbox, problems }: World, begun: Begun, what: string, times = 1): void {
  const spent = sandbox.stats.total - begun.sent;
  // With slots, the agenda asks what the limit allows: what was saved, and what is refilled meanwhile.
  const asked = what === 'slot' ? plan.limit * (1 + (clock.now() - begun.at) / plan.windowMs) : 0;
  const most = times * mostRequests(plan) + asked;
  if (spent > most) problems.push(`${what} sent ${spent} requests, and ${most} would be many`);
}

/** Where no client could end equal, it is enough that Sluice reports it. */
async function endEqual(world: World, kind: 'sync' | 'repair'): Promise<void> {
  const { plan, database, sandbox, clock, problems } = world;
  const begun = beginning(world);
  // What a lagging answer lacks is believed only then; a sync does not wait for it.
  await clock.advance(LAG_MS + SECOND);
  const atLeast = showsLackedRows(plan) || plan.variants.estimates === 'yes' ? READINGS_TO_LEARN : 1;
  const begins: Date[] = [];
  let states: string[] = [];
  do {
    // Another reading confirms only that much later: it is left to the next.
    if (begins.length > 0) await clock.advance(showsDeletedRows(plan) ? DAY : LAG_MS + SECOND);
    begins.push(new Date(await databaseNow(database)));
    states = await finish(world, kind, { whole: true });
  } while (begins.length < atLeast || (begins.length < MOST_TURNS && (await needsReading(database, begins))));
  // The bound holds for one repair, and for two syncs.
  checkRequests(world, begun, `the last ${kind}`, Math.max(kind === 'repair' ? begins.length : begins.length / 2, 1));
  world.trace(`at rest, ${kind}: ${states.join(' ')}`);
  const kept = await mayBeUnreadable(database, hidesRecords(plan));
  const read = [...MAIN, ...plan.others];
  const found = await differences(database, maskedSource(sandbox, world.declaration), Number.POSITIVE_INFINITY, read);
  const { declaration } = world;
  if (declaration !== null)
    found.push(...(await differingFields(database, sandbox, declaration, jobsRead(world).keys())));
  const complete = await completeLists(database);
  const isTold = (text: string) =>
    !complete.has(text.split(' ')[0] ?? '') && (isCut(plan.variants) || text.endsWith(' is not at the source'));
  const different = found.filter(each => !kept.has(each) && !isTold(each)).slice(0, 8);
  if (looksCut(states)) return;
  const isReported = states.some(state => state !== 'done') || (await holdsUnproven(database));
  if (mustTell(plan.variants) && isReported) return;
  for (const each of different) problems.push(`after the last ${kind}: ${each}`);
  if (different[0] !== undefined) problems.push(await evidenceOf(database, different[0]));
  if (!states.every(isDone)) problems.push(`the last ${kind} ended ${states.join(' | ')}`);
}

/**
 * Addresses that show deleted rows, and windows that leave out rows of the list, are found out by readings that lack what has been shown, the former
 * after a day.
 */
const showsLackedRows = (plan: Plan): boolean => showsDeletedRows(plan) || plan.variants.drafts === 'hidden';
const showsDeletedRows = ({ variants }: Plan): boolean => (variants['deleted-address'] ?? 'as-said') !== 'as-said';

/** Three tasks find a count wrong that is estimated anew for each answer. */
const READINGS_TO_LEARN = 4;

/** Syncs or repairs at rest. A row that is lacked for the first time after more of them is a problem. */
const MOST_TURNS = 6;

/** A reading may have lacked a record that was there: its count was not yet known to be wrong, or its answer lagged behind. */
const hidesRecords = (plan: Plan): boolean => countsWrongly(plan) || (plan.variants.stale ?? 'no') !== 'no';

/**
 * A record that cannot be read seems to be new when it is shown for the first time, or, if readings may lack records (`hides`), again: each
 * row that no run has shown since then and that went missing may be it, for as long as it is there. Runs that fail do not show all rows.
 * Windows do not show such records, a whole list does.
 */
async function mayBeUnreadable(database: Database, hides: boolean): Promise<Set<string>> {
  const { rows } = await database.query<{ resource: string; key: string }>(
    `select resource, key from sluice.missing m where unreadable and exists (select from sluice.quarantine q
      where q.source = m.source and q.resource = m.resource and q.key like '?%' and q.resolved_at is null
        and ($1 or (m.slice = 'whole' and q.first_seen >= coalesce((select max(r.ended_at) from sluice.runs r
          where r.source = m.source and r.resource = m.resource and r.state = 'done' and r.ended_at < m.since), '-infinity'))))`,
    [hides],
  );
  return new Set(rows.map(({ resource, key }) => `${resource} ${key} is not at the source`));
}

/**
 * A missing row is lacked by two readings before it is deleted, by three if half of its slice went missing with it (docs/coverage.md). The first
 * of them may be the latest: a sync before may have failed, or shown what a cache still held.
 */
async function needsReading(database: Database, begins: readonly Date[]): Promise<boolean> {
  const { rows } = await database.query(
    `select from sluice.missing, lateral (select case when half then 3 else 2 end as needed) n
      where cardinality($1::timestamptz[]) < needed or (select count(*) from unnest($1::timestamptz[]) b where b > since) < needed - 1`,
    [begins],
  );
  return rows.length > 0;
}

/** The lists that Sluice claims to be complete. In others, rows behind an end that nothing agrees with are kept, and may be absent if it is a cap. */
async function completeLists(database: Database): Promise<Set<string>> {
  const { rows } = await database.query<{ resource: string }>(
    `select resource from sluice.complete('-infinity', 'infinity') where complete`,
  );
  return new Set(rows.map(({ resource }) => resource));
}

async function holdsUnproven(database: Database): Promise<boolean> {
  const { rows } = await database.query(
    `select from sluice.coverage where proven_at is null and (slice = 'whole' or slice like 'date %' or slice like 'id %') limit 1`,
  );
  return rows.length > 0;
}

/** Requests of one order for every list, as a multiple of what reading every list once takes. Small pages without a count come closest. */
const MOST_TIMES = 8;

/** Requests that the orders of one action may spend, however often their process ends and is followed by another. */
const mostRequests = (plan: Plan): number => MOST_TIMES * requestsForAll(plan);

/** An upper bound of the requests of a complete reading. */
function requestsForAll(plan: Plan): number {
  const { counts } = plan;
  const others = [...plan.others, ...(plan.declares ? [OWN] : [])];
  const months = others.includes('financial_summaries') ? 2 * 84 : 0;
  const rows = counts.customers + 2 * counts.invoices + counts.transactions + others.length * 50;
  return (2 * rows) / rowsPerRequest(plan) + 50 + months + others.length * 6;
}

/** `whole`: reads everything again, although that may use more than is left of the limit now. */
async function finish(
  world: World,
  kind: 'sync' | 'repair',
  { whole = false }: { whole?: boolean } = {},
): Promise<string[]> {
  const action: Action = {
    kind,
    resources: [...MAIN, ...world.plan.others],
    range: { dateFrom: null, dateTo: null },
    afterMs: 0,
    changes: 0,
    changeChance: 0,
    restoreChance: 0,
    faults: [],
    crashes: [],
    spent: 0,
    rival: false,
    putBack: null,
    badDay: null,
    redeclaration: null,
  };
  const states = await end(await placeOrders(world, action, { whole }));
  const accepted = [...(await acceptDeletions(world, states)), ...(await acceptLosses(world, states))];
  return accepted.length === 0 ? states : [...states.filter(state => !HELD_BACK.test(state)), ...(await end(accepted))];

  async function end(ids: readonly string[]): Promise<string[]> {
    needsSuccessor(world, await serve(world, action, undefined), undefined);
    return exceptRewrites(world, ids, await checkAllEnded(world, ids, `the last ${kind}`));
  }
}

/**
 * What comes back long after a bad day is a rewrite, too, and so are many edits: the run fails, and nobody has to do anything.
 * `checkAnnouncements` refuses it where less was replaced.
 */
async function exceptRewrites(
  { database }: World,
  ids: readonly string[],
  states: readonly string[],
): Promise<string[]> {
  const { rows } = await database.query<{ reason: string }>(
    `select reason from sluice.orders o where id = any($1)
      and exists (select from sluice.runs r where r.order_id = o.id and r.failure = 'rewrite')`,
    [ids],
  );
  return states.map(state => (rows.some(({ reason }) => reason === state) ? 'done' : state));
}

const HELD_BACK = /sluice sync (\w+) --accept-(?:deletes (\d+)|losses (\S+))/;

/** A plan may delete more of a small list in a day than the loss limit allows. Accepts the deletions if the source really lacks the rows. */
async function acceptDeletions({ database, sandbox }: World, states: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const state of states) {
    const [, resource, count] = HELD_BACK.exec(state) ?? [];
    const table = shownIn(resource ?? '');
    if (resource === undefined || count === undefined || !isTable(table)) continue;
    const { rows } = await database.query<{ key: string }>('select key from sluice.missing where resource = $1', [
      resource,
    ]);
    const here = new Set(Array.from(sandbox.rows(table), row => String(row.id)));
    if (rows.some(({ key }) => here.has(key))) continue;
    const order = { source: 'main', resource, kind: 'sync', whole: true, acceptDeletes: Number(count) } as const;
    ids.push((await createOrder(database.kysely, order)).id);
  }
  return ids;
}

/** The same for values that a plan has emptied. */
async function acceptLosses({ database, sandbox }: World, states: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const state of states) {
    const [, resource, , fields] = HELD_BACK.exec(state) ?? [];
    const table = shownIn(resource ?? '');
    if (resource === undefined || fields === undefined || !isTable(table)) continue;
    const { rows } = await database.query<{ key: string; field: string }>(
      'select key, field from sluice.held where resource = $1',
      [resource],
    );
    const here = new Map(Array.from(sandbox.rows(table), row => [String(row.id), row as object]));
    const isEmpty = ({ key, field }: { key: string; field: string }) => {
      const value = (here.get(key) as Record<string, unknown> | undefined)?.[field];
      return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
    };
    if (!rows.every(isEmpty)) continue;
    const acceptLosses = fields.split(',').map(field => field.slice(resource.length + 1));
    const order = { source: 'main', resource, kind: 'sync', whole: true, acceptLosses } as const;
    ids.push((await createOrder(database.kysely, order)).id);
  }
  return ids;
}
