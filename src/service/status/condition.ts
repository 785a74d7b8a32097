import { MINUTE, stampMs } from '../../clock.ts';
import type { Incident } from '../../warehouse/ledgers/incidents.ts';
import { durationText, listed, moment, plural, shortDuration } from '../format.ts';
import { INCIDENT_WORDS } from './incident-words.ts';
import type { FullState, ResourceState, SourceState } from './source-state.ts';

/** A condition as people see it: a shape, which has a colour, and a word. */
export interface Badge {
  readonly icon: 'ok' | 'bad' | 'warn' | 'wait' | 'busy' | 'off';
  readonly text: string;
}

const mark = (icon: Badge['icon'], text: string): Badge => ({ icon, text });

interface Rule {
  readonly icon: Badge['icon'];
  readonly holds: (source: SourceState) => boolean;
  /** The sentence about the first of the sources in this condition; null where nothing needs to be said. */
  readonly say: ((first: SourceState, found: readonly SourceState[], at: number) => string) | null;
}

/** How a source may be, the worst first: the first that holds is its condition, and the verdict speaks of the first that is found. */
const RULES = {
  'cannot be read': {
    icon: 'bad',
    holds: ({ unreadable }) => unreadable !== null,
    say: (first, found) => `The state of ${withOthers(first, found)} cannot be read`,
  },
  trouble: { icon: 'bad', holds: ({ incidents }) => incidents.length > 0, say: troubleText },
  waiting: {
    icon: 'wait',
    holds: ({ runs }) => runs.some(run => run.state === 'waiting'),
    say: (first, found, at) => `${withOthers(first, found)}: ${waitText(first, at)}`,
  },
  'first sync': {
    icon: 'busy',
    holds: ({ resources }) => resources.some(each => each.neverRead > 0 && !each.absent),
    say: (first, found) =>
      `${withOthers(first, found)} ${found.length === 1 ? 'is' : 'are'} being read for the first time`,
  },
  'no schedule': {
    icon: 'off',
    // Read when somebody asks for it; for a day it counts as up to date.
    holds: ({ ticks, resources }) => ticks.length === 0 && !resources.every(isProvenInADay),
    say: (first, found) =>
      `${withOthers(first, found)}: no schedule is set, and not all of it was read within the last 24 hours`,
  },
  'no tick yet': {
    icon: 'off',
    // Without a tick nothing says that all that is due was read.
    holds: ({ upToDateAt }) => upToDateAt === null,
    say: (first, found) => `${withOthers(first, found)}: no scheduled sync has been completed yet`,
  },
  'order running': { icon: 'busy', holds: ({ orders }) => orders.some(order => order.state === 'running'), say: null },
  'up to date': { icon: 'ok', holds: () => true, say: null },
} as const satisfies Record<string, Rule>;

function isProvenInADay({ absent, slices, provenInADay }: SourceState['resources'][number]): boolean {
  return absent || (slices > 0 && provenInADay === slices);
}

type Condition = keyof typeof RULES;

/** The worst first. */
export const CONDITIONS = Object.keys(RULES) as readonly Condition[];

const ruleOf = (condition: Condition): Rule => RULES[condition];

export const conditionOf = (source: SourceState): Condition =>
  CONDITIONS.find(each => ruleOf(each).holds(source)) as Condition;

export function badgeOf(source: SourceState): Badge {
  const condition = conditionOf(source);
  return mark(ruleOf(condition).icon, condition);
}

/** For `sluice status`: the condition, and how old it is. */
export function conditionText(source: FullState): string {
  const condition = conditionOf(source);
  const { upToDateAt, readAt } = source;
  if (upToDateAt === null) return condition;
  const age = `${durationText(Math.max(readAt - upToDateAt, 0) / 1000)} ago`;
  return condition === 'up to date' ? `up to date as of ${age}` : `${condition}; last up to date ${age}`;
}

/** One sentence over all sources (its text), and one line about the healthy ones it does not speak of. */
export interface Verdict extends Badge {
  readonly rest: string;
}

/** The worst trouble wins. `at` is in epoch milliseconds. "Up to date": all that was due at the last tick was read. */
export function verdictOf(sources: readonly SourceState[], at: number): Verdict {
  const judged = sources.map(source => ({ source, rule: ruleOf(conditionOf(source)) }));
  const found = (wanted: (rule: Rule) => boolean) =>
    judged.filter(({ rule }) => wanted(rule)).map(({ source }) => source);
  const healthy = found(({ say }) => say === null);
  for (const rule of Object.values<Rule>(RULES)) {
    const its = found(each => each === rule);
    const [first] = its;
    if (rule.say === null || first === undefined) continue;
    return { ...mark(rule.icon, rule.say(first, its, at)), rest: restOf(healthy, at) };
  }
  if (sources.length === 0) return { ...mark('off', 'No source is configured'), rest: '' };
  const who = sources.length === 1 ? `${sources[0]?.name} is` : `All ${sources.length} sources are`;
  return { ...mark('ok', `${who} up to date${asOf(healthy, at)}`), rest: '' };
}

function withOthers({ name }: SourceState, found: readonly SourceState[]): string {
  return found.length === 1 ? name : `${name} and ${plural(found.length - 1, 'other source')}`;
}

function troubleText({ name, incidents: [incident] }: SourceState, found: readonly SourceState[], at: number): string {
  const what = incident ? incidentText(incident, at) : name;
  return found.length === 1 ? what : `${what}; ${plural(found.length - 1, 'other source')} in trouble`;
}

/** What is wrong, and since when: what lasts is more pressing. */
function incidentText(incident: Incident, at: number): string {
  const { source, resource, kind, openedAt } = incident;
  const lastsMs = at - stampMs(openedAt);
  const lasting = lastsMs < MINUTE ? '' : ` for ${shortDuration(lastsMs)}`;
  const subject = resource === null ? source : `${resource} of ${source}`;
  return INCIDENT_WORDS[kind].say(subject, lasting, incident);
}

function waitText({ runs }: SourceState, at: number): string {
  const run = runs.find(each => each.state === 'waiting');
  const what = run?.reason ? 'waiting before the next attempt' : 'waiting for the request limit';
  const leftMs = run?.waitingUntil ? stampMs(run.waitingUntil) - at : 0;
  return leftMs < MINUTE ? what : `${what}, for another ${shortDuration(leftMs)}`;
}

function restOf(healthy: readonly SourceState[], at: number): string {
  if (healthy.length === 0) return '';
  const names = healthy.length > 3 ? plural(healthy.length, 'other source') : listed(healthy.map(({ name }) => name));
  return `${names} ${healthy.length === 1 ? 'is' : 'are'} up to date${asOf(healthy, at)}.`;
}

/** As of the oldest tick among them. */
function asOf(sources: readonly SourceState[], at: number): string {
  const ticks = sources.flatMap(({ upToDateAt }) => upToDateAt ?? []);
  return ticks.length === 0 ? '' : ` as of ${shortDuration(at - Math.min(...ticks))} ago`;
}

/** What a resource does now, or why it does nothing. */
export function resourceBadge(
  { resource, absent, neverRead, end }: ResourceState,
  { incidents, runs, ticks, timeZone }: SourceState,
): Badge {
  if (absent) return mark('off', 'not offered');
  if (incidents.some(each => each.resource === resource)) return mark('bad', 'trouble');
  const run = runs.find(each => each.resource === resource);
  if (run?.state === 'waiting') {
    const until =
      run.waitingUntil === null ? '' : ` until ${moment(stampMs(run.waitingUntil), timeZone).slice(11, 16)}`;
    return mark('wait', `waiting${until}`);
  }
  if (run?.state === 'running') return mark('busy', run.kind === 'slot' ? 'reading' : `reading: ${run.kind}`);
  const tick = ticks.find(each => each.resource === resource);
  if (tick === undefined) return mark('off', 'schedule off');
  if (neverRead > 0) return mark('wait', 'not read in full yet');
  if (end?.verdict === 'cut') return mark('wait', 'cut off by the source');
  if (tick.at === null) return mark('wait', 'no tick yet');
  return mark('ok', 'up to date');
}

/** The oldest proof of a resource, or why there is none. */
export function proofText<T>(
  { absent, neverRead, oldestProof, end }: ResourceState,
  at: (stamp: string | null) => T,
): T | string {
  if (absent) return 'not offered';
  if (neverRead > 0) return `${plural(neverRead, 'part')} unread`;
  if (end === null) return at(oldestProof);
  // How far a list is proven whose end is not.
  return end.verdict === 'cut' ? `cut at ${plural(end.rows, 'row')}` : `${plural(end.rows, 'row')}, end unproven`;
}
