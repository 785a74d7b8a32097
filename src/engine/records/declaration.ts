import { hash } from 'node:crypto';
import { z } from 'zod';
import type { Table } from '../../warehouse/rows/tables.ts';
import type { Job } from '../job.ts';

/** Digest of all that says which row a record becomes, the functions of the job included. `never`: fields that are dropped beside those of the job. */
export const digestOfDeclaration = (job: Job, table: Table, never: readonly string[]): string => {
  const { record, children, key, never: dropped, tolerated } = job;
  const declared = { record, children, key, dropped, never, tolerated, table };
  return hash(
    'sha256',
    JSON.stringify(declared, (_name, value: unknown) =>
      value instanceof z.ZodType ? value.def : typeof value === 'function' ? String(value) : value,
    ),
  );
};
