import type { SourceConfig } from '../../config/config.ts';
import { FIELD_TYPES, type FieldType, isFieldName, type MoreFields } from '../../config/list-files.ts';
import type { Job } from '../../engine/job.ts';
import { declareTable } from '../../engine/records/declare-table.ts';
import { plainName } from '../../engine/records/secret-names.ts';
import { isKind, SluiceError } from '../../errors.ts';
import { didYouMean } from '../../nearest-name.ts';
import type { ListField, ListFields, MaskedField, NewField } from '../../service/status/list-fields.ts';
import { parseJson } from '../../source/answers/json.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { Declared, DeclaredTable } from '../../warehouse/database/declared-table.ts';
import { countFilled, readExtraFields, readExtraValues } from '../../warehouse/reports/extra-fields.ts';
import { extendJob, fieldTypeOf } from '../session/load-jobs.ts';
import { type Session, selectResources } from '../session/session.ts';
import { jobsOf } from '../session/source-jobs.ts';
import type { Content } from './list-file.ts';
import { sampleFields } from './sample-fields.ts';

/** The types of columns that a file can declare. */
export const COLUMN_TYPES = FIELD_TYPES.filter(type => type !== 'row');
const MOST_EXAMPLES = 2;

/** What the source sends of a list beyond the fields that Sluice knows, and what is not stored as it comes. */
export async function readFields(
  session: Pick<Session, 'jobs' | 'settings'>,
  database: Database,
  source: SourceConfig,
  resource: string,
): Promise<ListFields> {
  const job = session.jobs.get(resource) as Job;
  const fields: ListField[] = [];
  for (const [each, prefix] of tablesOf(declareTable(resource, job)))
    fields.push(...(await fieldsOf(database, source.schema, each, { prefix, file: job.listFile })));
  return { fields, masks: masksOf(session, source, resource) };
}

export const masksOf = (
  { jobs, settings }: Pick<Session, 'jobs' | 'settings'>,
  source: SourceConfig,
  resource: string,
): MaskedField[] =>
  Object.entries(jobsOf(source, jobs, settings.hashKey).get(resource)?.masks ?? {}).map(([field, { rule }]) => ({
    field,
    rule,
  }));

/** The table of a list and those of the lists inside, with how their fields are called. */
const tablesOf = (list: DeclaredTable): (readonly [table: Declared, prefix: string])[] => [
  [list, ''],
  ...list.children.map(child => [child, `${child.field}.`] as const),
];

async function fieldsOf(
  { kysely }: Database,
  schema: string,
  declared: Declared,
  { prefix, file }: { readonly prefix: string; readonly file: string | null },
): Promise<ListField[]> {
  const { total, fields, sample } = await readExtraFields(kysely, schema, declared.name);
  const sampled = sampleFields(sample.map(parseJson)).fields;
  const unfitOf = (name: string) => fields.find(field => field.name === name)?.rows ?? 0;
  const own = declared.columns.filter(({ isFromFile }) => isFromFile);
  const shown: ListField[] = [];
  for (const { name, type } of own)
    shown.push({
      ...{ field: prefix + name, table: declared.name, total, file, unfit: unfitOf(name), examples: [] },
      rows: await countFilled(kysely, schema, declared.name, name),
      type: fieldTypeOf(type) ?? null,
    });
  const others = fields.filter(({ name }) => own.every(column => column.name !== name));
  return [
    ...shown,
    ...others.map(({ name, rows }): ListField => {
      const found = sampled.find(field => field.name === name);
      const examples = new Set(found?.values.filter(value => value !== null && value !== '').map(String));
      return {
        ...{ field: prefix + name, table: declared.name, rows, total, file: null, unfit: 0 },
        type: found?.type ?? null,
        examples: [...examples].slice(0, MOST_EXAMPLES),
      };
    }),
  ];
}

/**
 * What a new field adds to the file of its list. Kind `usage` where it cannot get that column. The database, whose values are looked at, is opened
 * for a field that could, and returned.
 */
export async function planField(
  session: Session,
  added: NewField,
  open: () => Promise<Database>,
): Promise<{ readonly edit: (content: Content) => Content; readonly database: Database }> {
  const { resource, field, type, description } = added;
  selectResources(session.jobs, [resource]);
  const job = session.jobs.get(resource) as Job;
  refuseField(session, added, job);
  const [outer = '', inner] = field.split('.');
  const fields = { [inner ?? outer]: { type: type as FieldType, description } };
  const more = inner === undefined ? { fields, children: {} } : { fields: {}, children: { [outer]: { fields } } };
  const changed = columnOf(resource, extended(resource, job, more), field);
  const database = await open();
  for (const { schema } of session.settings.sources) await refuseUnfit(database, schema, changed, type);
  const declared = description === '' ? type : { type, description };
  return { edit: changeFields(field, (fields, name) => ({ ...fields, [name]: declared })), database };
}

function extended(resource: string, job: Job, more: MoreFields): Job {
  try {
    return extendJob(resource, job, more);
  } catch (error) {
    if (!isKind(error, 'configuration')) throw error;
    throw new SluiceError('usage', error.message, { next: `See: sluice fields ${resource}` });
  }
}

/** What the file of a list loses with a field. Kind `usage` where no file declares it. */
export function planDrop(
  { jobs }: Pick<Session, 'jobs'>,
  resource: string,
  field: string,
): (content: Content) => Content {
  selectResources(jobs, [resource]);
  const { tolerated, listFile } = jobs.get(resource) as Job;
  if (!tolerated.includes(field))
    throw new SluiceError('usage', `No file in lists/ declares ${resource}.${field}.`, {
      next: listFile === null ? `See: sluice fields ${resource}` : `${listFile} declares ${tolerated.join(', ')}.`,
    });
  return changeFields(field, (fields, name) =>
    Object.fromEntries(Object.entries(fields).filter(([each]) => each !== name)),
  );
}

type Holder = {
  readonly fields?: Content;
  readonly children?: Readonly<Record<string, { readonly fields?: Content }>>;
};

/** A change of those fields of a file among which `path` stands. */
const changeFields =
  (path: string, change: (fields: Content, name: string) => Content) =>
  (content: Content): Content => {
    const { fields = {}, children = {} } = content as Holder;
    const [outer = '', inner] = path.split('.');
    if (inner === undefined) return { ...content, fields: change(fields, outer) };
    const child = children[outer];
    const changed = { ...child, fields: change(child?.fields ?? {}, inner) };
    return { ...content, children: { ...children, [outer]: changed } };
  };

function refuseField(session: Session, { resource, field, type }: NewField, job: Job): void {
  if (!COLUMN_TYPES.some(each => each === type))
    throw new SluiceError('usage', `Unknown type "${type}"${didYouMean(type, COLUMN_TYPES)}.`, {
      next: `Types: ${COLUMN_TYPES.join(', ')}.`,
    });
  if (!field.split('.').every(isFieldName) || field.split('.').length > 2)
    throw new SluiceError('usage', `"${field}" cannot be a column.`, {
      next: 'Expected a name of a-z, 0-9 and _ that begins with a letter and is not taken, or one of a row inside, such as items.discount.',
    });
  if (job.tolerated.includes(field))
    throw new SluiceError('usage', `${job.listFile} declares ${resource}.${field} already.`, {
      next: `To give it another type: sluice fields drop ${resource} ${field}, then add it again.`,
    });
  const isDropped = ({ field: masked, rule }: MaskedField) =>
    rule === 'never' && plainName(masked) === plainName(field);
  if (session.settings.sources.some(source => masksOf(session, source, resource).some(isDropped)))
    throw new SluiceError('usage', `SOURCE_NEVER names ${field}, so its column would stay empty.`, {
      next: 'Take it out of SOURCE_NEVER first.',
    });
}

/** The table and the column of a field. */
export function columnOf(resource: string, job: Job, field: string) {
  const list = declareTable(resource, job);
  const [outer = '', inner] = field.split('.');
  const table = inner === undefined ? list : list.children.find(child => child.field === outer);
  const column = inner ?? outer;
  const read = table?.columns.find(({ name }) => name === column)?.read;
  return { table: table?.name ?? resource, column, read };
}

/** Kind `usage` if no stored value of the field fits. */
async function refuseUnfit(
  { kysely }: Database,
  schema: string,
  { table: name, column, read }: ReturnType<typeof columnOf>,
  type: string,
): Promise<void> {
  const values = await readExtraValues(kysely, schema, name, column);
  if (values.length === 0 || values.some(value => typeof read?.(value) === 'string')) return;
  // Cut off, a secret in it would no longer be recognised.
  const example = values.find(({ length }) => length <= 60);
  throw new SluiceError(
    'usage',
    `No stored value of ${column} is of type ${type}${example === undefined ? '' : `, such as ${example}`}.`,
    { next: `Types: ${COLUMN_TYPES.join(', ')}. See: sluice fields ${name}` },
  );
}
