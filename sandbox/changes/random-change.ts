import { DAY } from '../../src/clock.ts';
import { dateOf } from '../data/calendar.ts';
import type { Data } from '../data/data.ts';
import type { Random } from '../data/random.ts';
import type { Resource, Rows } from '../data/rows.ts';
import type { Edits } from './edits.ts';

/** What one change works with. */
export interface ChangeContext {
  data: Data;
  edits: Edits;
  random: Random;
  /** The source's time, in milliseconds since the epoch. */
  at: number;
}

/** Makes one change; returns the id of the row, or undefined if no row qualifies. */
export type ApplyChange = (context: ChangeContext) => number | undefined;

/** A change that was made. Kinds are named `<resource in the singular>-<what happened>`. */
export interface ChangeOf<Kind extends string, R extends Resource> {
  kind: Kind;
  resource: R;
  id: number;
  /** The source's time, in milliseconds since the epoch. */
  at: number;
}

/** Makes changes of a group of lists, drawn from one random sequence. */
export interface ChangeMaker<Kind extends string, R extends Resource> {
  /** Undefined if no row qualifies. */
  make(kind: Kind, at: number): ChangeOf<Kind, R> | undefined;
  /** Picks the kind at random. */
  makeAny(at: number): ChangeOf<Kind, R> | undefined;
}

/** `pool` holds each kind as often as its weight says. */
export function createChangeMaker<Kind extends string, R extends Resource>(
  { data, edits, random }: Omit<ChangeContext, 'at'>,
  apply: Record<Kind, ApplyChange>,
  pool: readonly Kind[],
): ChangeMaker<Kind, R> {
  const make: ChangeMaker<Kind, R>['make'] = (kind, at) => {
    const resource = `${kind.slice(0, kind.indexOf('-'))}s` as R;
    const id = apply[kind]({ data, edits, random, at });
    return id === undefined ? undefined : { kind, resource, id, at };
  };
  return { make, makeAny: at => make(random.pick(pool), at) };
}

/** Applies `change` to a random live row; undefined if there is none. */
export function changeRandomRow<R extends Resource>(
  context: ChangeContext,
  resource: R,
  change: (row: Rows[R]) => unknown,
): number | undefined {
  const position = randomPosition(context, resource);
  if (position === undefined) return undefined;
  const row = context.data[resource].at(position);
  change(row);
  return row.id;
}

/** Where ids are issued again, every second deletion is that of the newest row. */
export function removeRandomRow(context: ChangeContext, resource: Resource): number | undefined {
  const table = context.data[resource];
  const newest = table.reissuesIds && context.random.chance(0.5) ? table.select({}).at(-1) : undefined;
  if (newest !== undefined) {
    const { id } = table.at(newest);
    context.edits.remove(resource, id);
    return id;
  }
  return changeRandomRow(context, resource, row => context.edits.remove(resource, row.id));
}

/** The position of a random live row. */
export function randomPosition({ data, random }: ChangeContext, resource: Resource): number | undefined {
  const table = data[resource];
  if (table.size === 0) return undefined;
  for (let attempt = 0; attempt < 64; attempt += 1) {
    const position = random.int(0, table.length - 1);
    if (table.isLive(position)) return position;
  }
  return random.pick([...table.select({})]);
}

/** Days since 1970-01-01. */
export function today({ at }: ChangeContext): number {
  return Math.floor(at / DAY);
}

/** A random date other than `date`. */
export function differentDate(context: ChangeContext, date: string | null): string {
  const other = dateOf(today(context) - context.random.int(0, 2000));
  return other === date ? dateOf(today(context) - 2001) : other;
}
