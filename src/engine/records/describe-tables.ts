import type { z } from 'zod';
import type { TableComments } from '../../warehouse/database/comments.ts';
import type { Job } from '../job.ts';
import { childShape } from './parse-record.ts';

/** Columns of Sluice's own that a table of a list may have. */
const OWN: Readonly<Record<string, string>> = {
  _key: "Primary key: the source's id if it gives one, else # and a hash of the fields with a number that tells equal rows apart.",
  _hash: 'Hash of the record with its items; tells an unchanged row without comparing each column.',
  _extra: 'Fields that the job does not declare, as JSON; null when there are none.',
  _synced_at: 'When the row last changed here; indexed.',
  _read_at: 'When the request that brought this version of the row was granted.',
};

/** The comments on the table of a list and those of its children, as its job declares them. */
export function describeTables(name: string, job: Job, schema: string): TableComments[] {
  const { shape } = job.record;
  const children = Object.entries(job.children).map(([field, child]) => ({
    schema,
    table: child.table,
    comment: child.description ?? '',
    columns: {
      ...OWN,
      [child.parent]: `The row that it belongs to: the primary key of ${name}.`,
      line: 'Position in the list, from 1.',
      ...descriptionsOf(childShape(job, field)),
    },
  }));
  const columns = { ...OWN, ...descriptionsOf(shape) };
  return [
    { schema, table: name, comment: job.description, columns },
    // The view has the same columns, and a comment of its own.
    { schema, table: `${name}_history`, comment: '', columns },
    ...children,
  ];
}

const descriptionsOf = (shape: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(shape).flatMap(([field, schema]) => {
      const { description } = schema as z.ZodType;
      return description === undefined ? [] : [[field, description]];
    }),
  );
