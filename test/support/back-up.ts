import type { Resource } from '../../sandbox/data/rows.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';

/** Keeps the rows of these lists as they are now. What it returns puts them back, time stamps included, as a restored backup does. */
export function backUp(sandbox: Sandbox, lists: readonly Resource[]): () => void {
  const kept = lists.map(list => ({ list, rows: new Map([...sandbox.rows(list)].map(row => [row.id, row])) }));
  return () => {
    for (const { list, rows } of kept) {
      for (const { id } of [...sandbox.rows(list)]) if (!rows.has(id)) sandbox.remove(list, id);
      for (const [id, row] of rows) {
        sandbox.restore(list, id);
        sandbox.update(list, id, row);
      }
    }
  };
}
