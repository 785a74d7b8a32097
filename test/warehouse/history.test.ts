import { expect, test } from 'vitest';
import { createHistoryView } from '../../migrations/create-history-view.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import { deleteRows } from '../../src/warehouse/rows/delete-rows.ts';
import type { Row } from '../../src/warehouse/rows/write/row.ts';
import { writeRows } from '../../src/warehouse/rows/write/write-rows.ts';
import { withDatabase } from '../support/database.ts';
import { contentOf, createParcels, PARCELS, parcel } from './parcels.ts';

/** A sequence of numbers below 1 that is the same in every run. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

const asOf = async (database: Database, moment: string): Promise<unknown[]> => {
  const { rows } = await database.query(
    `select id, name, price, sent, seen_at, _extra, (select coalesce(jsonb_agg(jsonb_build_array(p->'line', p->'label', p->'weight')
      order by (p->>'line')::int), '[]') from jsonb_array_elements(parts) p) as parts
    from warehouse.parcels_as_of($1) order by id`,
    [moment],
  );
  return rows;
};

test('as of any moment, the warehouse shows what it held then: 2,000 random changes are replayed', async () => {
  await withDatabase(async database => {
    const table = await createParcels(database, { history: true });
    await database.transaction(async tx => {
      await tx.query('set local search_path = warehouse');
      await createHistoryView(tx, 'parcels', { field: 'parts', table: 'parcel_parts', parent: 'parcel_id' });
    });
    const random = randomOf(20260115);
    const pick = (most: number) => Math.floor(random() * most);
    const states: { moment: string; content: unknown[] }[] = [];
    const revised = (id: number, at: number): Row =>
      parcel(
        id,
        { name: `name ${pick(5)}`, price: pick(4) === 0 ? null : `${pick(1000)}.25`, sent: `2026-01-${10 + pick(20)}` },
        {
          parts: Array.from({ length: pick(3) }, () => ({ label: `part ${pick(3)}`, weight: `0.${1 + pick(9)}` })),
          ...(pick(3) === 0 && { extra: { tag: pick(3) } }),
          at,
        },
      );
    let changes = 0;
    for (let at = 1; changes < 2000; at++) {
      const keys = new Set(Array.from({ length: 1 + pick(20) }, () => 1 + pick(60)));
      changes += keys.size;
      await database.transaction(async tx => {
        const gone = [...keys].filter(() => pick(4) === 0).map(String);
        const rows = [...keys].filter(key => !gone.includes(String(key))).map(key => revised(key, at));
        await writeRows(tx, table, rows, { resource: 'parcels', runId: null, deep: false });
        await deleteRows(tx, table, PARCELS, gone, { runId: null, accepted: gone.length });
      });
      const { rows } = await database.query<{ moment: string }>('select sluice.now()::text as moment');
      states.push({ moment: rows[0]?.moment ?? '', content: await contentOf(database) });
    }
    expect(states.length).toBeGreaterThan(100);
    for (const { moment, content } of states) expect(await asOf(database, moment)).toEqual(content);

    const { rows } = await database.query<{ gaps: number; versions: number }>(
      `select count(*)::int as versions, count(*) filter (where follows < valid_to)::int as gaps from (
        select valid_to, lead(valid_from) over (partition by id order by valid_from) as follows from warehouse.parcels_history) v`,
    );
    // No two versions of a row overlap.
    expect(rows[0]?.gaps).toBe(0);
    expect(rows[0]?.versions).toBeGreaterThan(1000);
  });
}, 120_000);

test('without history, earlier versions are kept too, so that a run can be undone', async () => {
  await withDatabase(async database => {
    const table = await createParcels(database);
    const write = (at: number, name: string) =>
      database.transaction(tx =>
        writeRows(tx, table, [parcel(1, { name }, { at })], { resource: 'parcels', runId: null, deep: false }),
      );
    await write(1, 'first');
    await write(2, 'second');
    await database.transaction(tx => deleteRows(tx, table, PARCELS, ['1'], { runId: null, accepted: 1 }));
    const kept = async () =>
      (await database.query(`select row->>'name' as name, ended_by from warehouse.row_history order by valid_to`)).rows;
    expect(await kept()).toEqual([
      { name: 'first', ended_by: 'changed' },
      { name: 'second', ended_by: 'deleted' },
    ]);
    await write(3, 'second');
    expect(await kept()).toEqual([
      { name: 'first', ended_by: 'changed' },
      { name: 'second', ended_by: 'changed' },
    ]);
  });
});
