import type { z } from 'zod';
import { SluiceError } from '../../errors.ts';
import { changeJson } from '../../source/answers/exact-json.ts';
import { readerOf } from '../../source/answers/field.ts';
import { parseJson } from '../../source/answers/json.ts';
import { BadValue } from '../../source/answers/values.ts';
import type {
  DeclaredChild,
  DeclaredColumn,
  DeclaredMask,
  DeclaredTable,
} from '../../warehouse/database/declared-table.ts';
import { childShape, columnTypeOf, isFromFile, type Job, type Mask } from '../job.ts';
import { createMask } from './mask-fields.ts';
import { createRecordParser } from './parse-record.ts';

/** The columns of Sluice's own. */
const KEY = own(
  '_key',
  'text',
  "Primary key: the source's id if it gives one, else # and a hash of the fields with a number that tells equal rows apart.",
  true,
);
const HASH = own(
  '_hash',
  'bytea',
  'Hash of the record with its items; tells an unchanged row without comparing each column.',
);
const EXTRA = own('_extra', 'jsonb', 'Fields that the job does not declare, as JSON; null when there are none.');
const TIMES = [
  own('_synced_at', 'timestamp with time zone', 'When the row last changed here; indexed.', true),
  own(
    '_read_at',
    'timestamp with time zone',
    'When the request that brought this version of the row was granted.',
    true,
  ),
];

function own(name: string, type: string, comment: string, required = false): DeclaredColumn {
  return { name, type, comment, required };
}

export const declareTables = (jobs: Iterable<readonly [name: string, job: Job]>): DeclaredTable[] =>
  [...jobs].map(([name, job]) => declareTable(name, job));

/** The table of a list and those of its children, as its job says. */
export function declareTable(name: string, job: Job): DeclaredTable {
  const { record, children, key: keyField, slicings } = job;
  const isKeyedByContent = job.withoutKey === 'content';
  const fields = Object.entries(record.shape).filter(([field]) => !(field in children));
  const columns = fields.map(([field, schema]) => columnOf(schema, { table: name, field, path: field, job }));
  const key = isKeyedByContent ? KEY : columns.find(column => column.name === keyField);
  if (key === undefined) throw undeclared(name, keyField);
  const sliced = slicings.flatMap(slicing => (slicing.by === 'date' || slicing.by === 'value' ? slicing.field : []));
  return {
    name,
    file: fileOf(name, job),
    isFromFile: isFromFile(job),
    comment: job.description,
    keyField,
    key: [key.name],
    columns: [
      ...(isKeyedByContent ? [KEY] : []),
      ...columns.map(column => (column === key ? { ...column, required: true } : column)),
      ...(Object.keys(children).length > 0 ? [HASH] : []),
      EXTRA,
      ...TIMES,
    ],
    indexed: [...new Set([keyField, ...sliced, '_synced_at'])],
    children: Object.keys(children).map(field => declareChild(name, job, field, key)),
    history: job.history,
    masks: masksOf(job),
    maskJson: (row, masks, inside) => maskJson(row, createMask(withMasks(job, masks)), inside),
  };
}

const masksOf = ({ masks }: Job): DeclaredMask[] =>
  Object.entries(masks).map(([field, mask]) => ({
    field,
    rule: mask.rule,
    keyMark: mask.rule === 'hash' ? mask.keyMark : null,
  }));

/** The job with these of its masks only, or with nothing stored instead of a hash. */
const withMasks = (job: Job, masks: readonly Pick<DeclaredMask, 'field' | 'rule'>[]): Job => ({
  ...job,
  never: [],
  masks: Object.fromEntries(
    masks.map(({ field, rule }) => [field, rule === 'hash' ? (job.masks[field] ?? NEVER) : NEVER]),
  ),
});

const NEVER: Mask = { rule: 'never' };

const maskJson = (text: string, mask: (row: unknown) => unknown, inside: string | undefined): string | undefined =>
  changeJson(text, value => {
    if (inside === undefined) return mask(value);
    const row = { [inside]: [value] };
    return (mask(row) as typeof row)[inside]?.[0];
  });

function declareChild(list: string, job: Job, field: string, key: DeclaredColumn): DeclaredChild {
  const { table: name, parent, description = '' } = job.children[field] as Job['children'][string];
  const shape = childShape(job, field);
  const parse = createRecordParser(job, { hashed: false, contentKeyed: true });
  return {
    name,
    field,
    parent,
    file: fileOf(list, job),
    comment: description,
    isFromFile: Object.keys(shape).every(each => job.tolerated.includes(`${field}.${each}`)),
    key: [parent, 'line'],
    columns: [
      own(parent, key.type, `The row that it belongs to: the primary key of ${list}.`, true),
      own('line', 'integer', 'Position in the list, from 1.', true),
      ...Object.entries(shape).map(([each, schema]) =>
        columnOf(schema as z.ZodType, { table: name, field: each, path: `${field}.${each}`, job }),
      ),
      EXTRA,
    ],
    indexed: [],
    readRows: json => {
      const parsed = parse({ [field]: parseJson(json) }, '');
      return 'row' in parsed ? (parsed.row.children[field] ?? []) : undefined;
    },
  };
}

/** `path`: of the field in the record, such as `items.price`. */
function columnOf(
  schema: z.core.$ZodType,
  { table, field, path, job }: { table: string; field: string; path: string; job: Job },
): DeclaredColumn {
  const read = readerOf(schema);
  const type = columnTypeOf(schema);
  if (type === undefined) throw undeclared(table, field);
  return {
    name: field,
    type,
    comment: (schema as z.ZodType).description ?? '',
    required: false,
    isFromFile: job.tolerated.includes(path),
    read: json => {
      try {
        return read?.(parseJson(json));
      } catch (error) {
        if (error instanceof BadValue) return undefined;
        throw error;
      }
    },
  };
}

/** Where the list is declared, for messages. */
const fileOf = (name: string, job: Job): string => job.listFile ?? `jobs/${name}.ts`;

const undeclared = (table: string, field: string): SluiceError =>
  new SluiceError('failed', `The job of ${table} declares no type for its field "${field}".`, {
    next: 'Declare the field with one of the types of src/engine/job.ts, such as text() or decimal().',
  });
