import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withListFiles } from '../../../src/cli/session/load-jobs.ts';
import { checkMasks, jobsOf } from '../../../src/cli/session/source-jobs.ts';
import { readListFiles } from '../../../src/config/list-files.ts';
import { readConfig } from '../../../src/config/read-config.ts';
import type { Job } from '../../../src/engine/job.ts';
import { declareTables } from '../../../src/engine/records/declare-table.ts';
import { isKind } from '../../../src/errors.ts';
import { migrate } from '../../../src/warehouse/database/migrate.ts';
import { recogniseSource } from '../../../src/warehouse/ledgers/sources.ts';
import { MIGRATIONS } from '../../support/database.ts';
import { JOBS, MAIN } from '../../support/resources.ts';
import { type Declaration, hasLines, OWN } from '../plan/choose-declarations.ts';
import { checkMasked, notePeople } from './masked.ts';
import type { World } from './world.ts';

/** From now on processes start with this declaration. Migrates as `sluice migrate` does, maybe while a process of an older one reads. */
export async function declare(world: World, declaration: Declaration): Promise<void> {
  const { database, trace } = world;
  notePeople(world);
  const jobs = jobsFor(declaration);
  // As every run does: what is masked is looked for by source.
  await recogniseSource(database.kysely, {
    ...{ source: 'main', url: 'https://suite.example', schema: 'warehouse' },
    ...{ currency: null, moved: false },
  });
  let done: string[];
  try {
    done = await migrate({ database, ...MIGRATIONS, lists: declareTables(jobs), putsBack: true });
  } catch (error) {
    // Rows are told apart by these fields: nothing was changed.
    if (!isKind(error, 'configuration')) throw error;
    trace(`refused ${JSON.stringify(declaration)}: ${error.message}`);
    return;
  }
  trace(`declared ${JSON.stringify(declaration)}: ${done.join(', ') || 'nothing to do'}`);
  Object.assign(world, { declaration, jobs });
  await checkMasked(world, 'a migration');
}

/** The lists that a process reads now. */
export function jobsRead({ plan, jobs }: World): ReadonlyMap<string, Job> {
  const names: readonly string[] = [...MAIN, ...plan.others, OWN];
  return new Map(
    names.flatMap(name => {
      const job = jobs.get(name);
      return job ? [[name, job] as const] : [];
    }),
  );
}

/** The jobs as the files of `lists/` and the settings make them. */
function jobsFor({ fields, never, hash, hashKey }: Declaration): ReadonlyMap<string, Job> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-lists-'));
  try {
    mkdirSync(join(directory, 'lists'));
    for (const [list, types] of Object.entries(fields))
      writeFileSync(join(directory, 'lists', `${list}.json`), JSON.stringify(contentOf(list, types)));
    const jobs = withListFiles(
      new Map(Object.entries(JOBS)),
      readListFiles(directory, name => name in JOBS),
    );
    const environment = { SOURCE_NEVER: never.join(), SOURCE_HASH: hash.join(), SLUICE_HASH_KEY: hashKey };
    const config = readConfig({ environment, directory, needsSource: false, resources: [...jobs.keys()] });
    checkMasks(config, jobs);
    const [source] = config.sources;
    return source ? jobsOf(source, jobs, config.hashKey) : jobs;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function contentOf(list: string, types: Declaration['fields'][string]): object {
  const inner = Object.entries(types).flatMap(([path, type]) =>
    path.startsWith('items.') ? [[path.slice('items.'.length), type]] : [],
  );
  const fields = Object.fromEntries(Object.entries(types).filter(([path]) => !path.includes('.')));
  const lines = inner.length > 0 && hasLines(list) ? { fields: Object.fromEntries(inner) } : null;
  if (list !== OWN) return { fields, ...(lines ? { children: { items: lines } } : {}) };
  const children = lines ? { items: { table: 'offer_lines', parent: 'offer', ...lines } } : {};
  return { path: '/api/v2/quotes', fields: { id: 'integer', ...fields }, children };
}
