import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { createCommitter } from '../../../src/engine/apply/committer.ts';
import { placeOf, type Resource, refreshResources } from '../../../src/engine/resource.ts';
import { readCoverage } from '../../../src/warehouse/ledgers/coverage.ts';
import { takeCursors } from '../../../src/warehouse/ledgers/cursors.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

test('coverage is changed in its turn, and never by a process that lost the list to another', async () => {
  await withDatabase(async database => {
    const sandbox = await openSandbox({ size: { customers: 5, invoices: 5, transactions: 5 } });
    const engine = await openEngine(database, sandbox, { resources: ['customers'] });
    await serveOrders(engine, 'sync');
    const [list] = engine.resources as [Resource];
    const committer = createCommitter({ ...engine, onCommitted: () => undefined });
    const takeOver = async () => (await takeCursors(database.kysely, list.source, [list.name])).get(list.name);
    list.cursor = (await takeOver()) ?? list.cursor;
    await refreshResources(database.kysely, [list]);

    const dueAt = (dueSince: number) => ({ put: [...list.entries.values()].map(entry => ({ ...entry, dueSince })) });
    const stored = async () => (await readCoverage(database.kysely, placeOf(list))).map(({ dueSince }) => dueSince);
    let decided: (number | null)[] = [];
    const first = committer.change(list, () => dueAt(1000));
    const second = committer.change(list, () => {
      decided = [...list.entries.values()].map(({ dueSince }) => dueSince);
      return dueAt(2000);
    });
    await Promise.all([first, second]);
    expect(new Set(decided)).toEqual(new Set([1000]));
    expect(new Set(await stored())).toEqual(new Set([2000]));

    await takeOver();
    await expect(committer.change(list, () => dueAt(3000))).rejects.toMatchObject({ kind: 'stale' });
    expect(new Set(await stored())).toEqual(new Set([2000]));
    expect(new Set([...list.entries.values()].map(({ dueSince }) => dueSince))).toEqual(new Set([2000]));
    await engine.close();
    await sandbox.close();
  });
});
