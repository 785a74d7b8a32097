import { createRandom, mix, type Random } from '../../../sandbox/data/random.ts';
import { isDraft } from '../../../sandbox/data/table.ts';
import { HOUR, MINUTE, SECOND } from '../../../src/clock.ts';
import { isKind } from '../../../src/errors.ts';
import { answerAge } from '../../../src/service/answers/fresh-query.ts';
import { differing, shownId } from '../../support/compare.ts';
import { MAIN } from '../../support/resources.ts';
import { isHonest } from '../plan/choose-variants.ts';
import type { Action } from '../plan/plan.ts';
import { jobsRead } from './declare.ts';
import { maskedSource } from './masked.ts';
import { serve } from './serve.ts';
import { change } from './source-changes.ts';
import type { World } from './world.ts';

/** A question about rows of one list: its SQL, and which rows of the source it is about. */
interface Question {
  readonly resource: (typeof MAIN)[number];
  readonly where: string;
  readonly isAbout: (row: Readonly<Record<string, unknown>>) => boolean;
}

/**
 * People ask about a record, a customer or some days, after further changes at the source: an answer that claims to be of now equals the source in
 * all rows that it is about. It may be refused, or fail, with a reason.
 */
export async function askQuestions(world: World, action: Action, place: number): Promise<void> {
  const { plan, sandbox, database, problems } = world;
  const random = createRandom(mix(plan.seed, 0x9e5f + place));
  // What hides rows unnoticeably hides them from answers, too, and answers that lag behind show what was.
  const isFair =
    isHonest(plan.variants) &&
    (plan.variants.stale ?? 'no') === 'no' &&
    plan.actions.every(each => each.putBack === null && each.badDay === null);
  if (!plan.questions || !isFair || !random.chance(0.5)) return;
  sandbox.forgetFaults();
  for (let questions = random.int(1, 3); questions > 0; questions--) {
    change(world, random.int(0, 3));
    const question = questionOf(world, random);
    if (question === null) continue;
    const { resource, where, isAbout } = question;
    const sql = `select * from ${resource} where ${where}`;
    const maxAgeMs = random.pick([0, 0, SECOND, MINUTE, HOUR]);
    const before = sandbox.stats.total;
    const outcome = await ask(world, action, sql, maxAgeMs);
    world.trace(`asked ${sql}, at most ${maxAgeMs} ms old: ${outcome}, ${sandbox.stats.total - before} requests`);
    if (outcome === 'refused' && sandbox.stats.total > before) problems.push(`a refusal of "${sql}" sent requests`);
    if (outcome !== 'answered' || maxAgeMs > 0) continue;
    const wrong = await differing(database, maskedSource(sandbox, world.declaration), resource);
    const stored = await database.query<{ id: string }>(
      `select id::text as id from warehouse.${resource} where ${where}`,
    );
    const about = new Set([
      ...stored.rows.map(({ id }) => id),
      ...[...sandbox.rows(resource)].filter(isAbout).map(row => shownId(sandbox, row.id)),
    ]);
    for (const [id, text] of wrong) if (about.has(id)) problems.push(`"${sql}" was answered as of now, but ${text}`);
  }
}

function questionOf({ sandbox }: World, random: Random): Question | null {
  const resource = random.pick(MAIN);
  const rows = [...sandbox.rows(resource)] as unknown as Readonly<Record<string, unknown>>[];
  if (rows.length === 0) return null;
  const row = random.pick(rows);
  const id = shownId(sandbox, row.id);
  const isBare = resource === 'transactions' && sandbox.variants['transaction-ids'] === 'no';
  const one: Question = { resource, where: `id = ${id}`, isAbout: each => each.id === row.id };
  if (resource === 'customers') return one;
  const day = String(row.date);
  const days: Question = {
    resource,
    where: `date between '${day}' and '${day}'`,
    // The date filter may leave out drafts, which lie in no window then.
    isAbout: each => each.date === day && !(sandbox.variants.drafts === 'hidden' && isDraft(Number(each.id))),
  };
  const isDated = /^\d{4}-\d\d-\d\d$/.test(day) && day !== '0000-00-00';
  if (resource === 'invoices' && random.chance(0.4))
    return {
      resource,
      where: `customer_id = ${shownId(sandbox, row.customer_id)}`,
      isAbout: each => each.customer_id === row.customer_id,
    };
  if (isBare) return null;
  return isDated && random.chance(0.5) ? days : one;
}

async function ask(world: World, action: Action, query: string, maxAgeMs: number): Promise<string> {
  const { plan, database } = world;
  const quiet: Action = { ...action, kind: 'sync', faults: [], crashes: [], changeChance: 0, rival: false };
  const source = {
    ...{
      name: 'main',
      schema: 'warehouse',
      timeZone: 'UTC',
      jobs: jobsRead(world),
    },
    rules: { limit: plan.limit, windowMs: plan.windowMs, timeZone: 'UTC' },
    usage: async () => null,
  };
  const complete = async () => {
    await serve(world, quiet, undefined);
  };
  const { signal } = new AbortController();
  const place = { database, reader: database, sources: [source], signal, complete };
  try {
    const asked = { query, schema: 'warehouse', timeoutMs: 0 };
    await answerAge(place, asked, { maxAgeMs, mostRequests: 10_000, waitMs: HOUR });
    return 'answered';
  } catch (error) {
    if (isKind(error, 'usage')) return 'refused';
    if (isKind(error, 'failed')) return `failed: ${error.message}`;
    throw error;
  }
}
