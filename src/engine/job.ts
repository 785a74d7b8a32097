import { z } from 'zod';
import { field, readerOf } from '../source/answers/field.ts';
import { dateText, decimalText, integer32Text, integerText, stampText } from '../source/answers/values.ts';
import type { Sum } from '../warehouse/rows/stored-rows.ts';
import { plainText, rowText } from './storable-text.ts';

/**
 * The whole vocabulary of a file in `jobs/`. The file's name is the resource and the table; its default export is
 * `defineJob({...})`. What is declared here is all the engine knows of a resource: it never tests a job's name.
 */
export interface Job {
  /** Path of the list below the source's base URL, e.g. `/api/v2/customers`. */
  readonly path: string;
  /** One sentence about a row, the comment of its table; empty: none. */
  readonly description: string;
  /** Cron expression, five fields. Default: every 15 minutes. */
  readonly schedule: string;
  /** The fields of one row. Unknown fields are kept in `_extra`; a row that does not fit is quarantined. */
  readonly record: z.ZodObject;
  /** The record's field that identifies a row. */
  readonly key: string;
  /**
   * A row that comes without its key is identified by its `content` (the table has the primary key `_key`), or goes into `quarantine` (the
   * key itself is the primary key). Default: `content`.
   */
  readonly withoutKey: 'content' | 'quarantine';
  /** Lists inside a row that become rows of their own, replaced together with their parent. */
  readonly children: Readonly<Record<string, Child>>;
  /** The ways this list can be cut into slices. */
  readonly slicings: readonly Slicing[];
  /** More fields that are dropped at any depth before anything is stored or logged, beside passwords, keys and the like. */
  readonly never: readonly string[];
  /**
   * Events of the source's webhooks after which rows of this list may be new or different, and the fields of their messages that
   * may hold the row's key, the likeliest first. Messages are hints to read sooner, never data.
   */
  readonly events: Readonly<Record<string, readonly string[]>>;
  /** What the source says a month's rows sum up to; null: nothing. */
  readonly control: ControlTotals | null;
  /** The field that tells when the source last changed the row; null: none does. */
  readonly updatedAt: string | null;
  /** Keep all earlier versions of changed rows in `row_history`, unless HISTORY_<NAME> says otherwise. Default: for 31 days. */
  readonly history: boolean;
  /**
   * By column or child field: the share of its values that may be replaced within 24 hours before somebody is told, unless REWRITE_LIMIT_<NAME>
   * says otherwise. Default: a quarter.
   */
  readonly rewriteShares: Readonly<Record<string, number>>;
  /** The file in `lists/` that declares it, or more fields of it; null: none does. */
  readonly listFile: string | null;
  /**
   * Fields, those of a list inside as `lines.price`, whose values stay in `_extra` where they do not fit. Elsewhere such a row goes into
   * quarantine.
   */
  readonly tolerated: readonly string[];
  /**
   * By field, one of a list inside as `lines.price`: what is stored instead of it. Names that the job does not declare are dropped at any depth.
   * They are settings of a source.
   */
  readonly masks: Readonly<Record<string, Mask>>;
}

/** `never`: nothing is stored. `hash`: what `hash` makes of the field's text; `keyMark` tells its key from others. */
export type Mask =
  | { readonly rule: 'never' }
  | { readonly rule: 'hash'; readonly keyMark: string; readonly hash: (text: string) => string };

/** `table` holds one row per list item: (`parent`, `line` from 1, the item's fields, `_extra`). */
export interface Child {
  readonly table: string;
  readonly parent: string;
  /** The comment of its table. */
  readonly description?: string;
}

/** Where the source tells what a month (`YYYY-MM`) sums up to, and what its answer's fields are the sums of. */
export interface ControlTotals {
  readonly path: string;
  readonly query: (month: string) => Readonly<Record<string, string>>;
  readonly sums: Readonly<Record<string, Sum>>;
}

export type Slicing = IdRange | DateWindow | Value | One | Monthly;

/** The list comes ordered by the key: one answer proves the interval between its first and last row. */
export interface IdRange {
  readonly by: 'id';
}
/** The list can be asked for a range of a date field. `from` and `to` name the query parameters. */
export interface DateWindow {
  readonly by: 'date';
  readonly field: string;
  readonly from: string;
  readonly to: string;
}
/**
 * The list can be asked for one value of a field (the query parameter has the field's name). `watch`: values read at every sync and slot, and as questions in between. The first
 * field without any also confirms deletions where rows have no address: a missing row is deleted only once the list of its value lacks it, too.
 */
export interface Value {
  readonly by: 'value';
  readonly field: string;
  readonly watch: readonly string[];
}
/** One row can be asked for by its key; `{key}` in `path` stands for it. 404 proves that it is gone. */
export interface One {
  readonly by: 'one';
  readonly path: string;
}

/** There is no list: the source sums each month up, and its answer is the month's row. `month` counts from 1, `year` has four digits. */
export interface Monthly {
  readonly by: 'month';
  readonly query: (year: string, month: string) => Readonly<Record<string, string>>;
  /** Fields of the row that the answer does not hold, the key among them. */
  readonly fields: (year: string, month: string) => Readonly<Record<string, string>>;
  /**
   * The lists whose rows a month sums up, with the date that puts a row into its month: a past month is read again when such rows have
   * changed. Default: none, and all months are read again every time.
   */
  readonly sumsUp: Readonly<Record<string, string>>;
}

export const idRange = (): IdRange => ({ by: 'id' });
export const dateWindow = (field: string, from: string, to: string): DateWindow => ({ by: 'date', field, from, to });
export const value = (field: string, watch: readonly string[] = []): Value => ({ by: 'value', field, watch });
export const one = (path: string): One => ({ by: 'one', path });
export const monthly = (of: Pick<Monthly, 'query' | 'fields'> & Partial<Pick<Monthly, 'sumsUp'>>): Monthly => ({
  by: 'month',
  sumsUp: {},
  ...of,
});

export const DEFAULT_SCHEDULE = '*/15 * * * *';

export function defineJob(
  declaration: Pick<Job, 'path' | 'record' | 'key' | 'slicings'> &
    Partial<
      Pick<
        Job,
        | 'description'
        | 'schedule'
        | 'withoutKey'
        | 'children'
        | 'never'
        | 'events'
        | 'control'
        | 'updatedAt'
        | 'history'
        | 'rewriteShares'
        | 'listFile'
        | 'tolerated'
        | 'masks'
      >
    >,
): Job {
  return {
    description: '',
    schedule: DEFAULT_SCHEDULE,
    withoutKey: 'content',
    children: {},
    never: [],
    control: null,
    updatedAt: null,
    events: {},
    history: false,
    rewriteShares: {},
    listFile: null,
    tolerated: [],
    masks: {},
    ...declaration,
  };
}

/** The slicing of one kind that a job declares, if any. */
export function slicingOf<K extends Slicing['by']>(job: Job, by: K): Extract<Slicing, { by: K }> | undefined {
  return job.slicings.find((slicing): slicing is Extract<Slicing, { by: K }> => slicing.by === by);
}

/*
 * The types of fields. `description` becomes the comment of the column, which psql, BI tools and the console show.
 */

/** Text as it came, without NUL characters. */
export const text = (description?: string) => field(plainText, description);
/** A whole number for `bigint`; also as text. */
export const integer = (description?: string) => field(integerText, description);
/** The same for `integer`, which programs read as a number and not as text: a year, a month. */
export const integer32 = (description?: string) => field(integer32Text, description);
/** An exact number for `numeric`; also as text. */
export const decimal = (description?: string) => field(decimalText, description);
/** A plain date. */
export const date = (description?: string) => field(dateText, description);
/** A moment; without a zone it is read in SOURCE_TIMEZONE. */
export const timestamp = (description?: string) => field(stampText, description);
/** The row itself, whole, for `jsonb`: where the source's fields are not documented, nor whether it offers the list at all. */
export const wholeRow = () => WHOLE_ROW;
const WHOLE_ROW = field(rowText, 'The row as received, as JSON.');

const COLUMN_TYPES: ReadonlyMap<(value: unknown) => string | null, string> = new Map([
  [plainText, 'text'],
  [integerText, 'bigint'],
  [integer32Text, 'integer'],
  [decimalText, 'numeric'],
  [dateText, 'date'],
  [stampText, 'timestamp with time zone'],
  [rowText, 'jsonb'],
]);

/** The type of the column that holds all that a field yields, exactly; undefined for a schema that is none of these types. */
export function columnTypeOf(schema: object): string | undefined {
  const read = readerOf(schema);
  return read && COLUMN_TYPES.get(read);
}

/** A file in `lists/` declares the list itself, not only more of its fields. */
export const isFromFile = ({ record, children, key, tolerated }: Job): boolean =>
  Object.keys(record.shape).every(field => field === key || field in children || tolerated.includes(field));

/** The field that holds the whole row, if there is one. */
export const wholeRowOf = (job: Job): string | undefined =>
  Object.entries(job.record.shape).find(([, schema]) => schema === WHOLE_ROW)?.[0];

/** A list that the source may not offer: what is not documented, and what sums others up. */
export const mayBeAbsent = (job: Job): boolean =>
  wholeRowOf(job) !== undefined || slicingOf(job, 'month') !== undefined;

/** A list of records, kept as child rows (see `children`). */
export const list = (item: z.ZodObject) => z.array(item).nullable().optional();

/** The fields of the items of one of its lists. */
export function childShape({ record }: Job, field: string): Readonly<Record<string, unknown>> {
  let schema: unknown = record.shape[field];
  while (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) schema = schema.unwrap();
  if (schema instanceof z.ZodArray && schema.element instanceof z.ZodObject) return schema.element.shape;
  throw new Error(`The record's field "${field}" must be declared with list(z.object({...})).`);
}

/** Its declared fields with a column, those of a list inside as `lines.price`. */
export const fieldPaths = (job: Job): string[] =>
  Object.keys(job.record.shape).flatMap(field =>
    field in job.children ? Object.keys(childShape(job, field)).map(inner => `${field}.${inner}`) : [field],
  );

/** The schema of one of them; undefined for none. */
export function fieldAt(job: Job, path: string): object | undefined {
  const [outer = '', inner] = path.split('.');
  if (inner === undefined) return job.record.shape[outer];
  return outer in job.children ? (childShape(job, outer)[inner] as object | undefined) : undefined;
}

/** The declared fields of a record, without its key. */
export const fieldsBesideKey = ({ record, key }: Job): string[] =>
  Object.keys(record.shape).filter(field => field !== key);

/** The declared fields by which a list may be ordered in place of its key. */
export const sortableFields = (job: Job): string[] => fieldsBesideKey(job).filter(field => !(field in job.children));
