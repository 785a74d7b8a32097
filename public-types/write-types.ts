import { mkdirSync, writeFileSync } from 'node:fs';
import { loadJobs } from '../src/cli/session/load-jobs.ts';
import { listFileSchema } from '../src/config/list-files.ts';
import { sourcesFileSchema } from '../src/config/sources-schema.ts';
import { declareTables } from '../src/engine/records/declare-table.ts';
import { renderWarehouse } from './render-warehouse.ts';

// Part of `npm run build`: writes the types of `sluice/warehouse`, and the schemas of the files that people write.
const folder = new URL('../dist/types/', import.meta.url);
const jobs = await loadJobs(new URL('../jobs/', import.meta.url));
mkdirSync(folder, { recursive: true });
writeFileSync(new URL('warehouse.d.ts', folder), renderWarehouse(declareTables(jobs)));
for (const [file, schema] of Object.entries({ list: listFileSchema(), sources: sourcesFileSchema() }))
  writeFileSync(new URL(`../${file}.schema.json`, folder), `${JSON.stringify(schema, null, 2)}\n`);
