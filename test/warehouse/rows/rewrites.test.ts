import { expect, test } from 'vitest';
import { countReplaced, readReplaced } from '../../../src/warehouse/rows/rewrites.ts';
import { writeRows } from '../../../src/warehouse/rows/write/write-rows.ts';
import { withDatabase } from '../../support/database.ts';
import { createParcels, inTransaction, PARCELS, parcel } from '../parcels.ts';

type Part = readonly [label: string | null, weight: string | null];

test('lines count as replaced in the columns that they filled before: not for one that came, was declared or is put back', async () => {
  await withDatabase(async database => {
    const table = await createParcels(database, { history: true });
    const store = (at: number, lines: Readonly<Record<number, readonly Part[]>>) =>
      inTransaction(database, tx =>
        writeRows(
          tx,
          table,
          Object.entries(lines).map(([id, parts]) =>
            parcel(Number(id), { name: 'n' }, { parts: parts.map(([label, weight]) => ({ label, weight })), at }),
          ),
          { resource: PARCELS.resource, runId: null, deep: false },
        ),
      );
    const some: Part[] = [
      ['a', '1'],
      ['b', '2'],
    ];
    await store(0, { 1: [['a', null]], 2: some, 3: some, 4: some, 5: [['a', '1.5']], 6: some });
    await store(1, {
      1: [['a', '7']],
      2: [...some].reverse(),
      3: [...some, ['c', '3']],
      4: [
        ['a', '1'],
        ['b', null],
      ],
      5: [['x', '1.5']],
      6: [],
    });
    // What was kept beside the columns when a file declared one of them, or declared one more.
    await database.query(`update warehouse.row_history set row = jsonb_set(row, '{parts,0}', row #> '{parts,0}' ||
      case key when '1' then '{"_extra": {"weight": 7}}' else '{"colour": "red"}' end::jsonb)`);
    const asked = { resource: PARCELS.resource, since: '2026-01-01' };
    expect(await countReplaced(database.kysely, table, { ...asked, fields: ['parts'] })).toEqual(
      new Map([['parts', 3]]),
    );
    const { pairs } = await readReplaced(database.kysely, table, { ...asked, field: 'parts', most: 9 });
    expect(pairs.map(({ key }) => key).sort()).toEqual(['3', '4', '5']);
  });
});
