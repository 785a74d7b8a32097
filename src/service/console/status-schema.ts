import { z } from 'zod';
import { stampMs } from '../../clock.ts';
import { ORDER_KINDS, ORDER_STATES } from '../../warehouse/ledgers/orders.ts';
import { RUN_STATES } from '../../warehouse/ledgers/runs.ts';
import { PURPOSES } from '../../warehouse/reports/activity.ts';
import { CONDITIONS } from '../status/condition.ts';
import { INCIDENT_KINDS } from '../status/incident-words.ts';

/**
 * The documents of `/status.json`: what a client may rely on, and what `/openapi.json` describes. `decode` makes a document of what the
 * service knows: it takes the fields that are named here, and writes moments in ISO 8601.
 */

const isoMoment = z.iso.datetime({ offset: true });
/** Of epoch milliseconds, or of a moment as Postgres writes it. */
const moment = z.codec(z.union([z.number(), z.string()]), isoMoment, {
  decode: at => new Date(typeof at === 'number' ? at : stampMs(at)).toISOString(),
  encode: text => Date.parse(text),
});
const instant = z.codec(z.number(), isoMoment, {
  decode: at => new Date(at).toISOString(),
  encode: text => Date.parse(text),
});
/** Takes what only may be read, too. */
const list = <T extends z.ZodType>(item: T, length?: number): z.ZodType<z.output<T>[], readonly z.input<T>[]> =>
  length === undefined ? z.array(item) : z.array(item).length(length);
const seconds = z.number().nullable();

const incident = z.object({
  source: z.string(),
  resource: z.string().nullable().describe('Null: the source as a whole. Of the kind undelivered, the receiver.'),
  kind: z.enum(INCIDENT_KINDS),
  message: z.string(),
  next: z.string().nullable().describe('What to do.'),
  openedAt: moment,
});

const run = z.object({
  resource: z.string(),
  kind: z.string().describe('slot (a tick), hint (a webhook), sync, backfill, verify or refresh.'),
  state: z.enum(RUN_STATES),
  reason: z.string().nullable(),
});

const state = z
  .enum(CONDITIONS)
  .describe(
    'up to date: all that was due at the last tick was read; without any schedule, all within the last 24 hours.',
  );

const verdict = z.object({ text: z.string(), rest: z.string() });

const gist = z.object({
  name: z.string(),
  state,
  reason: z.string().nullable().describe('Why it cannot be read; null otherwise.'),
  upToDateAt: moment
    .nullable()
    .describe(
      'The latest tick served for each resource; of these, the oldest. Without any schedule: the oldest proof.',
    ),
  isRead: z.boolean(),
  rows: z.number().int(),
  missing: z.number().int(),
  quarantined: z.number().int(),
  held: z.number().int(),
  requestsLastHour: z.number().int(),
  incidents: list(incident),
  runs: list(run),
  openOrders: z.number().int(),
});

export const overviewSchema = z.object({ asOf: moment, verdict, sources: list(gist) });

const delay = z.object({
  expectedSeconds: seconds.describe('Mean time until a change arrives.'),
  within95Seconds: seconds,
  measuredSeconds: seconds.describe('Mean of the last 24 hours, where rows tell when they changed.'),
  targetSeconds: seconds,
});

const resource = z.object({
  resource: z.string(),
  state: z.string().describe('In words, such as: up to date, reading, schedule off.'),
  rows: z.number().int(),
  newestChangeAt: moment.nullable(),
  oldestProofAt: moment.nullable(),
  slices: z.number().int(),
  neverRead: z.number().int(),
  missing: z.number().int(),
  quarantined: z.number().int(),
  held: z.number().int().describe('Stored values that the source shows empty, and that are kept.'),
  end: z
    .object({ verdict: z.enum(['open', 'cut']), rows: z.number().int(), counted: z.number().int().nullable() })
    .nullable()
    .describe(
      'Set if the end of the list is not confirmed (open), or if the source cuts the list off (cut). rows: where it seems to end. counted: the count of the source, if it is higher.',
    ),
  delay: delay.nullable(),
});

const drifted = z.object({
  resource: z.string(),
  field: z.string().describe('`items.discount`: of child rows.'),
  kind: z.enum(['new', 'vanished']),
  since: moment,
  meaning: z.string(),
});

const order = z.object({
  id: z.string(),
  kind: z.enum(ORDER_KINDS),
  resource: z.string(),
  from: z.iso.date().nullable(),
  to: z.iso.date().nullable(),
  state: z.enum(ORDER_STATES),
  slices: z.number().int(),
  proven: z.number().int(),
  requestsLeft: z.number().int(),
});

const question = z.object({
  resource: z.string(),
  question: z.string(),
  slice: z.string(),
  changesAnHour: z.number(),
  ageSeconds: z.number(),
  requests: z.number(),
  score: z.number(),
  overdue: z.boolean(),
  why: z.string(),
});

const proof = z.union([instant, z.literal('never'), z.literal('future')]);

export const sourceSchema = z.object({
  asOf: moment,
  verdict,
  name: z.string(),
  timeZone: z.string(),
  state,
  upToDateAt: moment.nullable(),
  nextTickAt: moment.nullable(),
  budget: z
    .object({
      limit: z.number().int(),
      used: z.number().int(),
      free: z.number().int(),
      withheld: z.number().int(),
      reserve: z.number().int().describe('Requests per window that are left to other programs, beside `limit`.'),
      nextFreeAt: moment.nullable(),
      blockedUntil: moment.nullable(),
      byLane: z.object({ live: z.number().int(), backfill: z.number().int(), verify: z.number().int() }),
    })
    .nullable(),
  incidents: list(incident),
  resources: list(resource),
  drift: list(drifted).describe('Fields that appeared or vanished within 30 days.'),
  runs: list(run),
  orders: list(order),
  failures: list(run.extend({ endedAt: moment.nullable(), next: z.string().nullable() })),
  lastHour: list(z.object({ kind: z.string(), resource: z.string(), requests: z.number().int() })),
  calendar: list(
    z.object({
      resource: z.string(),
      years: list(z.object({ year: z.number().int(), months: list(proof, 12) })),
      earlier: proof.nullable(),
    }),
  ),
  changes: list(z.object({ day: z.iso.date(), inserted: z.number(), updated: z.number(), deleted: z.number() })),
  requests: list(z.object({ hourAt: moment, ...Object.fromEntries(PURPOSES.map(name => [name, z.number().int()])) })),
  agenda: z.object({ questions: list(question), more: z.number().int(), unread: list(z.string()) }),
  profile: list(z.object({ list: z.string(), words: z.string() })),
});
