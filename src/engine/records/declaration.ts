import { hash } from 'node:crypto';
import { z } from 'zod';
import type { Table } from '../../warehouse/rows/tables.ts';
import type { Job } from '../job.ts';

/** Digest of all that says which row a record becomes, the functions of the job included. */
export const digestOfDeclaration = (job: Job, table: Table): string => {
  const { record, children, key, never, tolerated, masks } = job;
  const declared = { record, children, key, never, tolerated, masks, table };
  return hash(
    'sha256',
    JSON.stringify(declared, (_name, value: unknown) =>
      value instanceof z.ZodType ? value.def : typeof value === 'function' ? String(value) : value,
    ),
  );
};
