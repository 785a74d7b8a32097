import { MINUTE } from '../../../clock.ts';
import { stampMs } from '../../../warehouse/database/stamp.ts';
import type { Incident } from '../../../warehouse/ledgers/incidents.ts';
import { plural } from '../../format.ts';
import { type Condition, conditionOf, type JudgedSource } from '../../status/condition.ts';
import { shortDuration } from '../parts/age.ts';
import type { State } from '../parts/state.ts';
import type { Verdict } from '../parts/verdict-section.ts';

/** The worst trouble wins. `at` is in epoch milliseconds. "Up to date": all that was due at the last tick was read. */
export function verdictOf(sources: readonly JudgedSource[], at: number): Verdict {
  const healthy = sources.filter(each => ['order running', 'up to date'].includes(conditionOf(each)));
  const rest = restOf(healthy, at);
  for (const [condition, { icon, tone, say }] of Object.entries(SAID)) {
    const found = sources.filter(each => conditionOf(each) === condition);
    const [first] = found;
    if (first !== undefined) return { icon, tone, text: say(first, found, at), rest };
  }
  if (sources.length === 0) return { icon: 'off', tone: '', text: 'No source is configured', rest: '' };
  const who = sources.length === 1 ? `${sources[0]?.name} is` : `All ${sources.length} sources are`;
  return { icon: 'ok', tone: 'good', text: `${who} up to date${asOf(healthy, at)}`, rest: '' };
}

type Say = (first: JudgedSource, found: readonly JudgedSource[], at: number) => string;

/** What is said of the first source in each condition that needs a word, the worst first. */
const SAID: Readonly<
  Record<Exclude<Condition, 'order running' | 'up to date'>, Pick<State, 'icon' | 'tone'> & { say: Say }>
> = {
  unreadable: {
    icon: 'bad',
    tone: 'bad',
    say: (first, found) => `The state of ${withOthers(first, found)} cannot be read`,
  },
  trouble: { icon: 'bad', tone: 'bad', say: troubleText },
  waiting: { icon: 'wait', tone: '', say: (first, found, at) => `${withOthers(first, found)} ${waitText(first, at)}` },
  'first sync': {
    icon: 'busy',
    tone: 'busy',
    say: (first, found) =>
      `${withOthers(first, found)} ${found.length === 1 ? 'is' : 'are'} being read for the first time`,
  },
  idle: { icon: 'off', tone: '', say: (first, found) => `${withOthers(first, found)}: no tick was served yet` },
};

const withOthers: (first: JudgedSource, found: readonly JudgedSource[]) => string = ({ name }, found) =>
  found.length === 1 ? name : `${name} and ${plural(found.length - 1, 'other source')}`;

function troubleText(first: JudgedSource, found: readonly JudgedSource[], at: number): string {
  const incident = 'status' in first ? first.status.incidents[0] : undefined;
  const what = incident ? incidentText(first.name, incident, at) : first.name;
  return found.length === 1 ? what : `${what}; ${plural(found.length - 1, 'other source')} in trouble`;
}

/** What is wrong, and since when: what lasts is more pressing. */
function incidentText(source: string, { resource, kind, openedAt }: Incident, at: number): string {
  const lastsMs = at - stampMs(openedAt);
  const lasting = lastsMs < MINUTE ? '' : ` for ${shortDuration(lastsMs)}`;
  const subject = resource === null ? source : `${resource} of ${source}`;
  switch (kind) {
    case 'unavailable':
      if (resource !== null) return `${subject}: no answer${lasting}`;
      return lasting === '' ? `${subject} does not answer` : `${subject} has not answered${lasting}`;
    case 'unauthorized':
      return `${subject}: the API key is rejected${lasting}`;
    case 'outdated':
      return `${subject}: not read as scheduled${lasting}`;
    case 'fuse':
      return `${subject}: more rows are missing than a day allows`;
    case 'failed':
      return `${subject}: the last run failed`;
  }
}

function waitText(facts: JudgedSource, at: number): string {
  const run = 'status' in facts ? facts.status.runs.find(each => each.state === 'waiting') : undefined;
  const what = run?.reason ? 'waits before asking again' : 'waits for the request limit';
  const leftMs = run?.waitingUntil ? stampMs(run.waitingUntil) - at : 0;
  return leftMs < MINUTE ? what : `${what}, for another ${shortDuration(leftMs)}`;
}

function restOf(healthy: readonly JudgedSource[], at: number): string {
  if (healthy.length === 0) return '';
  const names = healthy.length > 3 ? plural(healthy.length, 'other source') : listed(healthy.map(({ name }) => name));
  return `${names} ${healthy.length === 1 ? 'is' : 'are'} up to date${asOf(healthy, at)}.`;
}

const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

/** As of the oldest tick among them. */
function asOf(sources: readonly JudgedSource[], at: number): string {
  const ticks = sources.flatMap(each => ('upToDateAt' in each ? (each.upToDateAt ?? []) : []));
  return ticks.length === 0 ? '' : ` as of ${shortDuration(at - Math.min(...ticks))} ago`;
}
