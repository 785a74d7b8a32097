import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import type { Database } from '../../src/warehouse/database.ts';

/** What must hold at every moment, looked at after every commit. */
export interface Watch {
  /** Looks now; what it finds is in `problems`. */
  look(): void;
  /** Whether every row that was once there and is at the source still is there. */
  lookAtAll(when: string): Promise<void>;
  readonly problems: string[];
  /** Resolves when all looks so far are done. */
  done(): Promise<void>;
}

const TABLES = ['customers', 'invoices', 'transactions'] as const;

export function createWatch(database: Database, sandbox: Sandbox): Watch {
  const problems = new Set<string>();
  const seen = new Map<string, Set<string>>(TABLES.map(table => [table, new Set()]));
  // Rows without ids are known by what they say: an edit deletes one and adds another.
  const watched = TABLES.filter(table => table !== 'transactions' || sandbox.variants['transaction-ids'] === 'yes');
  let looking: Promise<void> = Promise.resolve();
  let again = false;

  async function deletedTooSoon(): Promise<void> {
    again = false;
    const { rows } = await database.query<{ resource: string; key: string }>(
      `select resource, key from warehouse.row_history where ended_by = 'deleted' and key not like '#%'`,
    );
    const removed = removedRows(sandbox);
    for (const { resource, key } of rows)
      if (!removed.has(`${resource} ${key}`)) problems.add(`${resource} ${key} was deleted, but never left the source`);
  }

  return {
    look() {
      if (again) return;
      again = true;
      looking = looking.then(deletedTooSoon).catch(error => {
        problems.add(`looking after a commit: ${String(error)}`);
      });
    },
    async lookAtAll(when) {
      for (const table of watched) {
        const { rows } = await database.query<{ id: string }>(`select id::text as id from warehouse.${table}`);
        const here = new Set(rows.map(row => row.id));
        const known = seen.get(table) as Set<string>;
        const removed = removedRows(sandbox);
        for (const row of sandbox.rows(table)) {
          const id = String(row.id);
          // A row that was restored may not have been read again yet.
          if (!here.has(id) && known.has(id) && !removed.has(`${table} ${id}`))
            problems.add(`${table} ${id} was there before and is absent ${when}`);
        }
        for (const id of here) known.add(id);
      }
    },
    get problems() {
      return [...problems];
    },
    done: () => looking,
  };
}

/** All that was ever removed, restored or not. */
function removedRows(sandbox: Sandbox): Set<string> {
  return new Set(
    sandbox.changes.filter(change => change.kind.endsWith('-deleted')).map(change => `${change.resource} ${change.id}`),
  );
}

/** Changes whenever any row of the warehouse is written, be it with the same content. */
export async function writesSeen(database: Database): Promise<string> {
  const { rows: tables } = await database.query<{ name: string }>(
    `select quote_ident(tablename) as name from pg_tables where schemaname = 'warehouse' order by 1`,
  );
  const sums = tables.map(
    ({ name }) => `select '${name}' as name,
      md5(coalesce(string_agg(t.ctid::text || t.xmin::text, ',' order by t.ctid), '')) as sum from warehouse.${name} t`,
  );
  const { rows } = await database.query<{ name: string; sum: string }>(sums.join(' union all '));
  return rows
    .map(row => `${row.name} ${row.sum}`)
    .sort()
    .join('\n');
}
