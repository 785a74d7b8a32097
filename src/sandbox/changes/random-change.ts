import { DAY } from '../../clock.ts';
import { dateOf } from '../data/calendar.ts';
import type { Data } from '../data/data.ts';
import type { Random } from '../data/random.ts';
import type { Resource, Rows } from '../data/rows.ts';
import type { Edits } from './edits.ts';

/** What a random change works with. */
export interface Scene {
  data: Data;
  edits: Edits;
  random: Random;
  /** The source's time, in milliseconds since the epoch. */
  at: number;
}

/** Picks any row of the list, old or new, and lets it happen to it; undefined when there is none. */
export function befall<R extends Resource>(
  scene: Scene,
  resource: R,
  happen: (row: Rows[R]) => unknown,
): number | undefined {
  const position = somePosition(scene, resource);
  if (position === undefined) return undefined;
  const row = scene.data[resource].at(position);
  happen(row);
  return row.id;
}

export function somePosition({ data, random }: Scene, resource: Resource): number | undefined {
  const table = data[resource];
  if (table.size === 0) return undefined;
  for (let attempt = 0; attempt < 64; attempt += 1) {
    const position = random.int(0, table.length - 1);
    if (table.isLive(position)) return position;
  }
  return random.pick([...table.select({})]);
}

/** The day's number since 1970-01-01. */
export function today({ at }: Scene): number {
  return Math.floor(at / DAY);
}

export function otherDate(scene: Scene, date: string | null): string {
  const other = dateOf(today(scene) - scene.random.int(0, 2000));
  return other === date ? dateOf(today(scene) - 2001) : other;
}
