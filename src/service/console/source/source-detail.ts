import { hourlyLimit } from '../../../engine/agenda/list-facts.ts';
import { readAgenda } from '../../../engine/run/agenda/read-agenda.ts';
import { dayIn } from '../../../engine/slices/date-windows.ts';
import type { Database } from '../../../warehouse/database/database.ts';
import { readSourceCoverage } from '../../../warehouse/ledgers/coverage.ts';
import { readTraits } from '../../../warehouse/ledgers/traits.ts';
import { changesByDay, requestsByHour } from '../../../warehouse/reports/activity.ts';
import { describeProfile } from '../../status/describe-profile.ts';
import { nextQuestions } from '../../status/next-questions.ts';
import type { ServedSource } from '../../status/served-source.ts';
import type { FullState } from '../../status/source-state.ts';
import { type ConsoleParts, readSource } from '../console-parts.ts';
import { type Calendar, calendarOf } from './calendar.ts';

/** What only the page of one source shows, and the overview does not. */
export type SourceDetail = Awaited<ReturnType<typeof readDetail>>;

const DAYS = 30;
const MOST_QUESTIONS = 8;

/** Everything that the page of a source shows; no detail where the source cannot be read. `now`: epoch milliseconds. */
export async function readDetailedSource(
  parts: ConsoleParts,
  source: ServedSource,
  now: number,
): Promise<{ readonly state: FullState; readonly detail: SourceDetail | null }> {
  const state = await readSource(parts, source);
  return { state, detail: state.unreadable === null ? await readDetail(parts.database, source, state, now) : null };
}

async function readDetail(database: Database, source: ServedSource, { usage, readAt }: FullState, now: number) {
  const { kysely } = database;
  const { name, timeZone, schema } = source;
  const today = dayIn(now, source.rules.timeZone);
  /** By resource; those that are not read by date are left out. */
  const calendars = new Map<string, Calendar>();
  for (const [resource, entries] of await readSourceCoverage(kysely, name)) {
    const calendar = source.jobs.has(resource) ? calendarOf(entries, today) : null;
    if (calendar !== null) calendars.set(resource, calendar);
  }
  const rules = { ...source.rules, limit: usage?.limit ?? source.rules.limit };
  return {
    calendars,
    changes: await changesByDay(kysely, { source: name, resources: [...source.jobs.keys()], timeZone }, DAYS),
    requests: await requestsByHour(kysely, name),
    /** Requests that the source allows in an hour. */
    hourlyLimit: hourlyLimit(rules),
    agenda: nextQuestions(await readAgenda(database, { ...source, rules }, schema), MOST_QUESTIONS),
    profile: describeProfile(await readTraits(kysely, name)),
    /** Epoch milliseconds; null without a schedule. */
    nextTickAt: source.nextTickAt(readAt),
  };
}
