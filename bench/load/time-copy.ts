import type { Postgres } from '../support/open-postgres.ts';
import { createEmptyClones } from './empty-clones.ts';

/** The limit: `copy` of all rows of the warehouse, from files of the server, into empty tables with the same indexes. */
export async function timeCopy({ admin, folder, walBytes }: Postgres): Promise<{ ms: number; walBytes: number }> {
  const tables = await createEmptyClones(admin, 'bench_copy');
  const fileOf = (table: string) => `${folder}/bench-${table}.copy`;
  for (const table of tables) await admin.query(`copy warehouse.${table} to '${fileOf(table)}'`);
  await admin.query('checkpoint');
  const walBefore = await walBytes();
  const started = performance.now();
  for (const table of tables) await admin.query(`copy bench_copy.${table} from '${fileOf(table)}'`);
  const ms = performance.now() - started;
  return { ms, walBytes: (await walBytes()) - walBefore };
}
