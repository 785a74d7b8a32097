import { mkdirSync, writeFileSync } from 'node:fs';
import { loadJobs } from '../src/cli/session/session.ts';
import { declareTables } from '../src/engine/records/declare-table.ts';
import { renderWarehouse } from './render-warehouse.ts';

// Part of `npm run build`: writes the types of `sluice/warehouse`.
const folder = new URL('../dist/types/', import.meta.url);
const jobs = await loadJobs(new URL('../jobs/', import.meta.url));
mkdirSync(folder, { recursive: true });
writeFileSync(new URL('warehouse.d.ts', folder), renderWarehouse(declareTables(jobs)));
