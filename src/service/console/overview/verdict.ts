import { plural } from '../../format.ts';
import { INCIDENT_TITLES } from '../../incidents/incident-titles.ts';
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
    if (first !== undefined) return { icon, tone, text: say(first, found), rest };
  }
  if (sources.length === 0) return { icon: 'off', tone: '', text: 'No source is configured', rest: '' };
  const who = sources.length === 1 ? `${sources[0]?.name} is` : `All ${sources.length} sources are`;
  return { icon: 'ok', tone: 'good', text: `${who} up to date${asOf(healthy, at)}`, rest: '' };
}

type Say = (first: JudgedSource, found: readonly JudgedSource[]) => string;

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
  waiting: { icon: 'wait', tone: '', say: (first, found) => `${withOthers(first, found)} ${waitText(first)}` },
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

function troubleText(first: JudgedSource, found: readonly JudgedSource[]): string {
  const incident = 'status' in first ? first.status.incidents[0] : undefined;
  const where = incident?.resource ? `${first.name}, ${incident.resource}` : first.name;
  const what = incident ? `${where}: ${INCIDENT_TITLES[incident.kind]}` : where;
  return found.length === 1 ? what : `${what}; ${plural(found.length - 1, 'other source')} in trouble`;
}

function waitText(facts: JudgedSource): string {
  const run = 'status' in facts ? facts.status.runs.find(each => each.state === 'waiting') : undefined;
  return run?.reason ? 'waits before asking again' : 'waits for the request limit';
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
