import type { RunState } from '../../warehouse/ledgers/runs.ts';
import { count, durationText, moment } from '../format.ts';
import { proofText } from './condition.ts';
import type { FullState, ResourceState } from './source-state.ts';

/** A table that a command draws as text, or a page as HTML. */
export interface StatusTable {
  readonly head: readonly string[];
  /** Columns that hold numbers. */
  readonly right: readonly number[];
  readonly rows: readonly (readonly string[])[];
}

/** To the minute, so that the widest row fits 100 columns. */
export const minute = (at: number | string | null, timeZone: string): string => moment(at, timeZone).slice(0, 16);

export function resourceTable({ resources }: FullState, timeZone: string): StatusTable {
  const at = (value: string | null) => minute(value, timeZone);
  // Where something is held, that matters more than how much was looked at.
  const holds = resources.some(({ held }) => held > 0);
  const proven = ({ slices, provenInADay }: ResourceState) =>
    slices === 0 ? '' : `${Math.floor((100 * provenInADay) / slices)}%`;
  return {
    head: [
      'resource',
      'rows',
      'newest change',
      'oldest proof',
      holds ? 'held' : 'proven 24h',
      'missing',
      'quarantined',
    ],
    right: [1, 4, 5, 6],
    rows: resources.map(each => [
      each.resource,
      count(each.rows),
      at(each.newestChange),
      proofText(each, at),
      holds ? count(each.held) : proven(each),
      count(each.missing),
      count(each.quarantined),
    ]),
  };
}

/** How long a change takes to arrive; null while nothing is known of any resource. */
export function delayTable({ delays }: FullState): StatusTable | null {
  const text = (seconds: number | null) => (seconds === null ? '' : durationText(seconds));
  const known = delays.filter(each => each.expected !== null || each.measuredSeconds !== null);
  if (known.length === 0) return null;
  const hasTargets = known.some(each => each.targetSeconds !== null);
  return {
    head: ['a change of', 'arrives after', '95% within', 'measured 24h', ...(hasTargets ? ['target'] : [])],
    right: [],
    rows: known.map(({ resource, expected, measuredSeconds, targetSeconds }) => [
      resource,
      ...[expected?.meanSeconds ?? null, expected?.within95Seconds ?? null, measuredSeconds].map(text),
      ...(hasTargets ? [text(targetSeconds)] : []),
    ]),
  };
}

export function runTable({ runs, readAt }: FullState, timeZone: string): StatusTable {
  const today = moment(readAt, timeZone).slice(0, 11);
  const until = (at: string | null) => {
    const text = moment(at, timeZone);
    return text.startsWith(today) ? text.slice(today.length) : text;
  };
  return {
    head: ['run', 'kind', 'state', 'rows', 'requests', 'since'],
    right: [3, 4],
    rows: runs.map(run => [
      run.resource,
      run.kind,
      run.state === 'waiting' ? waitingText(run.reason, until(run.waitingUntil)) : stateText(run.state),
      count(run.rowsRead),
      count(run.requests),
      minute(run.startedAt, timeZone),
    ]),
  };
}

/** Without a reason, a run waits for the request limit. */
const waitingText = (reason: string | null, until: string): string =>
  reason === null ? `waiting for the request limit until ${until}` : `waiting until ${until}: ${reason}`;

const stateText = (state: RunState): string => (state === 'stopped' ? 'stopped: its process ended' : state);
