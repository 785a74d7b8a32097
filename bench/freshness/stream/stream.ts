import type { Counts } from '../../../sandbox/data/data.ts';
import { createRandom, mix, type Random } from '../../../sandbox/data/random.ts';
import { DAY, HOUR } from '../../../src/clock.ts';
import { byList, dayOf, type Kind, type List, rowsPerDay, type StreamParameters } from '../parameters.ts';
import { type Flow, flowsOf } from './flows.ts';
import { type Phase, phaseAt } from './habits.ts';
import { createIdSet, type IdSet } from './id-set.ts';
import { drawPosition, type Extent } from './places.ts';
import { createRows, type Key, keyOf, type Rows } from './rows.ts';

export interface Change {
  /** Counts from 1. The version of a row is the number of its latest change. */
  readonly number: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly list: List;
  readonly kind: Kind;
  readonly id: number;
  /** The row's place after the change, or the one it had before it was deleted. */
  readonly place: Key;
}

/** The rows of a source, and what changes them. */
export interface Stream {
  readonly rows: Readonly<Record<List, Rows>>;
  /** Invoices that are not paid. */
  readonly open: { has(id: number): boolean };
  /** 0 for a row that never changed. */
  versionOf(list: List, id: number): number;
  /** Makes the changes up to this moment and returns them, oldest first. */
  advanceTo(ms: number): Change[];
}

export interface StreamOptions {
  readonly counts: Counts;
  readonly seed: number;
  readonly parameters: StreamParameters;
  readonly startMs: number;
  /** Changes of habits; their times count from `phasesFromMs`. */
  readonly phases?: readonly Phase[];
  readonly phasesFromMs?: number;
}

/** The same options give the same rows and changes, whoever reads them and whenever. */
export function createStream(options: StreamOptions): Stream {
  const { counts, seed, parameters, startMs } = options;
  const random = createRandom(mix(seed, 0xf4e5));
  const perDay = byList(list => rowsPerDay(parameters.lists[list], counts[list]));
  const rows = byList(list => createRows(initialDays(counts[list], perDay[list], startMs)));
  const open = initiallyOpen(counts.invoices, perDay.invoices, parameters, random);
  const versions = byList(() => new Map<number, number>());
  const extentOf = (list: List): Extent => ({ size: rows[list].size, perDay: perDay[list] });
  const usuallyOpen = perDay.invoices * parameters.paidAfterDays;
  const world = { rows, open, extentOf, parameters, random };

  let number = 0;
  let now = startMs;
  let nextAt: number | null = null;
  let { flows, untilMs } = flowsAt(options, now);
  /** Each open invoice is paid with the same probability in any hour. */
  const rateOf = (flow: Flow) => (flow.kind === 'paid' ? (flow.perHour * open.size) / usuallyOpen : flow.perHour);
  const totalRate = () => flows.reduce((sum, flow) => sum + rateOf(flow), 0);
  const draw = (): Flow => {
    let left = random.next() * totalRate();
    for (const flow of flows) {
      left -= rateOf(flow);
      if (left < 0) return flow;
    }
    return flows[0] as Flow;
  };

  return {
    rows,
    open,
    versionOf: (list, id) => versions[list].get(id) ?? 0,
    advanceTo(ms) {
      const made: Change[] = [];
      for (;;) {
        nextAt ??= now + (-Math.log(1 - random.next()) / totalRate()) * HOUR;
        // The time to the next change has no memory, so it is drawn anew when the habits change.
        const at = Math.min(nextAt, untilMs);
        if (at > ms) return made;
        now = at;
        const isChange = nextAt < untilMs;
        nextAt = null;
        if (!isChange) ({ flows, untilMs } = flowsAt(options, now));
        else {
          const { list, kind, id, place } = applyFlow(draw(), now, world) ?? {};
          if (list === undefined || kind === undefined || id === undefined || place === undefined) continue;
          versions[list].set(id, ++number);
          made.push({ number, at: now, list, kind, id, place });
        }
      }
    },
  };
}

interface World {
  readonly rows: Readonly<Record<List, Rows>>;
  readonly open: IdSet;
  readonly extentOf: (list: List) => Extent;
  readonly parameters: StreamParameters;
  readonly random: Random;
}

/** Makes one change of this flow; undefined if no row qualifies. */
function applyFlow(
  { list, kind, places }: Flow,
  now: number,
  { rows: all, open, extentOf, parameters, random }: World,
): Pick<Change, 'list' | 'kind' | 'id' | 'place'> | undefined {
  const rows = all[list];
  if (kind === 'new' || places === 'newest') {
    const id = rows.insert(dayOf(now));
    if (list === 'invoices') open.add(id);
    return { list, kind, id, place: placeOf(rows, id) };
  }
  if (places === 'open') {
    const id = open.any(random);
    if (id === undefined) return undefined;
    open.delete(id);
    return { list, kind, id, place: placeOf(rows, id) };
  }
  if (rows.size === 0) return undefined;
  const hit = () => rows.at(drawPosition(places, extentOf(list), parameters, random));
  const id = hit();
  const changed = { list, kind, id, place: placeOf(rows, id) };
  switch (kind) {
    case 'back-dated': {
      const inserted = rows.insert(rows.dayOf(id));
      if (list === 'invoices') open.add(inserted);
      return { ...changed, id: inserted, place: placeOf(rows, inserted) };
    }
    case 'moved':
      // The new date follows the same law.
      rows.move(id, rows.dayOf(hit()));
      return { ...changed, place: placeOf(rows, id) };
    case 'deleted':
      rows.remove(id);
      open.delete(id);
      return changed;
    default:
      return changed;
  }
}

const placeOf = (rows: Rows, id: number): Key => keyOf(rows.dayOf(id), id);

function flowsAt({ counts, parameters, ...options }: StreamOptions, now: number) {
  const { phase, untilMs } = phaseAt(options.phases ?? [], options.phasesFromMs ?? options.startMs, now);
  return { flows: flowsOf(counts, parameters, phase), untilMs };
}

/** The days of the initial rows: an even density up to the start. */
function initialDays(count: number, perDay: number, startMs: number): number[] {
  return Array.from({ length: count }, (_, index) => dayOf(startMs - ((count - index - 0.5) / perDay) * DAY));
}

function initiallyOpen(count: number, perDay: number, { paidAfterDays }: StreamParameters, random: Random): IdSet {
  const open = createIdSet();
  for (let id = 1; id <= count; id++) {
    const ageDays = (count - id + 0.5) / perDay;
    if (random.chance(Math.exp(-ageDays / paidAfterDays))) open.add(id);
  }
  return open;
}
