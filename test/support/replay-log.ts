import { expect } from 'vitest';
import type { Database } from '../../src/warehouse/database/database.ts';
import { MAIN } from './resources.ts';

/** A row of the view `changes`. */
export interface Logged {
  readonly [column: string]: unknown;
  readonly number: number;
  readonly resource: string;
  readonly key: string;
  readonly kind: string;
  readonly before: Record<string, unknown> | null;
  readonly after: Record<string, unknown> | null;
  readonly earliest: string | null;
  readonly seen_at: string;
}

/** Rows with their child rows, by list and key. */
export type State = Map<string, Record<string, unknown>>;

/** All rows of the large lists as they are stored. */
export async function storedRows(database: Database): Promise<State> {
  const state: State = new Map();
  for (const list of MAIN) {
    const { rows } = await database.query<{ key: string; row: Record<string, unknown> }>(
      `select to_jsonb(t)->>$1 as key, sluice.plain_row(sluice.row_now('warehouse', $2, to_jsonb(t)->>$1)) as row from warehouse.${list} t`,
      [list === 'transactions' ? '_key' : 'id', list],
    );
    for (const { key, row } of rows) state.set(`${list} ${key}`, row);
  }
  return state;
}

/** The rows after these changes. Fails where a change does not say what was there before it. */
export function replayLog(before: State, changes: readonly Logged[]): State {
  const state: State = new Map(before);
  for (const { resource, key, kind, before, after } of changes) {
    const place = `${resource} ${key}`;
    const stood = state.get(place);
    if (kind === 'deleted') {
      expect(before).toEqual(stood);
      state.delete(place);
      continue;
    }
    if (kind === 'updated') {
      expect(stood).toMatchObject(before ?? {});
      expect(after).not.toEqual({});
    } else expect(stood).toBeUndefined();
    state.set(place, { ...stood, ...after });
  }
  return state;
}
