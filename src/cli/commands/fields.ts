import type { Command } from 'commander';
import type { SourceConfig } from '../../config/config.ts';
import { FIELD_TYPES, type FieldType, isFieldName } from '../../config/list-files.ts';
import type { Job } from '../../engine/job.ts';
import { declareTable } from '../../engine/records/declare-table.ts';
import { plainName } from '../../engine/records/secret-names.ts';
import { SluiceError } from '../../errors.ts';
import { didYouMean } from '../../nearest-name.ts';
import { count, plural } from '../../service/format.ts';
import { parseJson } from '../../source/answers/json.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { Declared, DeclaredMask, DeclaredTable } from '../../warehouse/database/declared-table.ts';
import { countFilled, readExtraFields, readExtraValues } from '../../warehouse/reports/extra-fields.ts';
import { changeFields, changeList } from '../lists/change-list.ts';
import { sampleFields } from '../lists/sample-fields.ts';
import { table } from '../output/table.ts';
import { hasBookkeeping, refusePending } from '../run/pending-migrations.ts';
import { fieldTypeOf } from '../session/load-jobs.ts';
import { type Cli, newCommand, type Session, selectResources } from '../session/session.ts';
import { jobsOf } from '../session/source-jobs.ts';

const EXAMPLES = `sluice fields invoices                          what the source sends beyond the columns
sluice fields add invoices project text
sluice fields add invoices items.discount decimal
sluice fields drop invoices project`;

export function fieldsCommand(cli: Cli): Command {
  return newCommand('fields', EXAMPLES)
    .argument('<resource>', 'the list whose fields are shown')
    .action(cli.action({ source: false }, showFields))
    .addCommand(
      newCommand('add', 'sluice fields add invoices project text --description "Project of the customer."')
        .description('Give a field a column, filled from what is stored, without a request')
        .argument('<resource>', 'the list')
        .argument('<field>', 'the field as the source calls it; of the rows inside, as items.discount')
        .argument('<type>', TYPES.join(', '))
        .option('--description <text>', 'the comment of the column', '')
        .action(cli.action({ source: false }, addField)),
    )
    .addCommand(
      newCommand('drop', 'sluice fields drop invoices project')
        .description('Put a field that a file declares back into _extra')
        .argument('<resource>', 'the list')
        .argument('<field>', 'the field')
        .action(cli.action({ source: false }, dropField)),
    );
}

const TYPES = FIELD_TYPES.filter(type => type !== 'row');
const MOST_EXAMPLES = 2;

interface Shown {
  /** Those of the rows inside as `items.discount`. */
  readonly field: string;
  readonly table: string;
  /** Rows that carry it; of a column, those with a value. */
  readonly rows: number;
  readonly total: number;
  /** What a column of it could be; null for lists and objects, and for names that no column can have. */
  readonly type: FieldType | null;
  readonly examples: readonly string[];
  /** The file that gives it a column; null without one. */
  readonly file: string | null;
  /** Values that do not fit the type of its column, and stay in `_extra`. */
  readonly unfit: number;
}

async function showFields(session: Session, resource: string): Promise<0> {
  const { terminal, jobs, settings } = session;
  selectResources(jobs, [resource]);
  const { schema } = settings.single;
  const database = await session.openDatabase();
  const isStored = await hasBookkeeping(session, database);
  if (isStored) await refusePending(session, database);
  const job = jobs.get(resource) as Job;
  const list = declareTable(resource, job);
  const fields: Shown[] = [];
  if (isStored)
    for (const [each, prefix] of tablesOf(list))
      fields.push(...(await fieldsOf(database, schema, each, { prefix, file: job.listFile })));
  const masks = masksOf(session, settings.single, resource);
  terminal.show({ resource, fields, masks }, () => {
    if (fields.length === 0)
      return [
        isStored
          ? `The source sends no fields of ${resource} beyond the columns.`
          : `Nothing of ${resource} is stored yet: sluice sync ${resource}`,
        ...maskLines(masks),
      ].join('\n');
    const rows = fields.map(({ field, rows, total, type, examples, file, unfit }) => [
      field,
      `${count(rows)} of ${count(total)}`,
      type ?? '-',
      examples.map(example => (example.length > 24 ? `${example.slice(0, 23)}…` : example)).join(', '),
      file === null ? '_extra' : `column${unfit > 0 ? `; ${count(unfit)} of other types in _extra` : ''}`,
    ]);
    const first = fields.find(({ file, type }) => file === null && type !== null);
    return [
      table(terminal.colors, ['field', 'rows', 'type', 'examples', 'kept in'], rows, { right: [1] }),
      ...(masks.length > 0 ? ['', ...maskLines(masks)] : []),
      ...(first ? ['', `To give one a column: sluice fields add ${resource} ${first.field} ${first.type}`] : []),
    ].join('\n');
  });
  return 0;
}

type Masked = Pick<DeclaredMask, 'field' | 'rule'>;

const masksOf = ({ jobs, settings }: Session, source: SourceConfig, resource: string): Masked[] =>
  Object.entries(jobsOf(source, jobs, settings.hashKey).get(resource)?.masks ?? {}).map(([field, { rule }]) => ({
    field,
    rule,
  }));

function maskLines(masks: readonly Masked[]): string[] {
  const named = (rule: Masked['rule']) =>
    masks
      .filter(mask => mask.rule === rule)
      .map(({ field }) => field)
      .join(', ');
  const [never, hash] = [named('never'), named('hash')];
  return [...(never ? [`Never stored: ${never}.`] : []), ...(hash ? [`Stored as hashes: ${hash}.`] : [])];
}

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
): Promise<Shown[]> {
  const { total, fields, sample } = await readExtraFields(kysely, schema, declared.name);
  const sampled = sampleFields(sample.map(parseJson)).fields;
  const unfitOf = (name: string) => fields.find(field => field.name === name)?.rows ?? 0;
  const own = declared.columns.filter(({ isFromFile }) => isFromFile);
  const shown: Shown[] = [];
  for (const { name, type } of own)
    shown.push({
      ...{ field: prefix + name, table: declared.name, total, file, unfit: unfitOf(name), examples: [] },
      rows: await countFilled(kysely, schema, declared.name, name),
      type: fieldTypeOf(type) ?? null,
    });
  const others = fields.filter(({ name }) => own.every(column => column.name !== name));
  return [
    ...shown,
    ...others.map(({ name, rows }): Shown => {
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

async function addField(
  session: Session,
  resource: string,
  field: string,
  type: string,
  { description }: { description: string },
  command: Command,
): Promise<0> {
  const { terminal, jobs } = session;
  selectResources(jobs, [resource]);
  refuseSource(command);
  if (!TYPES.some(each => each === type))
    throw new SluiceError('usage', `Unknown type "${type}"${didYouMean(type, TYPES)}.`, {
      next: `Types: ${TYPES.join(', ')}.`,
    });
  if (!field.split('.').every(isFieldName) || field.split('.').length > 2)
    throw new SluiceError('usage', `"${field}" cannot be a column.`, {
      next: 'Expected a name of a-z, 0-9 and _ that begins with a letter and is not taken, or one of a row inside, such as items.discount.',
    });
  const job = jobs.get(resource) as Job;
  if (job.tolerated.includes(field))
    throw new SluiceError('usage', `${job.listFile} declares ${resource}.${field} already.`, {
      next: `To give it another type: sluice fields drop ${resource} ${field}, then add it again.`,
    });
  const isDropped = ({ field: masked, rule }: Masked) => rule === 'never' && plainName(masked) === plainName(field);
  if (session.settings.sources.some(source => masksOf(session, source, resource).some(isDropped)))
    throw new SluiceError('usage', `SOURCE_NEVER names ${field}, so its column would stay empty.`, {
      next: 'Take it out of SOURCE_NEVER first.',
    });
  const declared = description === '' ? type : { type, description };
  const add = changeFields(field, (fields, name) => ({ ...fields, [name]: declared }));
  const { file, database, changed } = await changeList(session, resource, add, async (database, changed) => {
    for (const { schema } of session.settings.sources)
      await refuseUnfit(database, schema, place(changed, resource, field), type);
  });
  const { table: name, column } = place(changed, resource, field);
  let filled = 0;
  for (const { schema } of session.settings.sources) filled += await countFilled(database.kysely, schema, name, column);
  terminal.show({ resource, field, type, table: name, file, filled }, () =>
    [
      `${name}.${column} is a column now, with a value in ${plural(filled, 'row')}.`,
      `  written: ${file}`,
      'It is filled from now on as rows are read.',
    ].join('\n'),
  );
  return 0;
}

async function dropField(
  session: Session,
  resource: string,
  field: string,
  _options: unknown,
  command: Command,
): Promise<0> {
  const { terminal, jobs } = session;
  selectResources(jobs, [resource]);
  refuseSource(command);
  const job = jobs.get(resource) as Job;
  if (!job.tolerated.includes(field))
    throw new SluiceError('usage', `No file in lists/ declares ${resource}.${field}.`, {
      next:
        job.listFile === null
          ? `See: sluice fields ${resource}`
          : `${job.listFile} declares ${job.tolerated.join(', ')}.`,
    });
  const { table: name, column } = place(session, resource, field);
  const drop = changeFields(field, fields =>
    Object.fromEntries(Object.entries(fields).filter(([each]) => each !== column)),
  );
  const { file } = await changeList(session, resource, drop);
  terminal.show({ resource, field, table: name, file }, () =>
    [`${name}.${column} is no column any more; its values are in _extra.`, `  written: ${file}`].join('\n'),
  );
  return 0;
}

function refuseSource(command: Command): void {
  if (command.optsWithGlobals<{ source?: string }>().source !== undefined)
    throw new SluiceError('usage', 'A file in lists/ holds for all sources.', { next: 'Leave out --source.' });
}

/** The table and the column of a field. */
function place({ jobs }: Pick<Session, 'jobs'>, resource: string, field: string) {
  const list = declareTable(resource, jobs.get(resource) as Job);
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
  { table: name, column, read }: ReturnType<typeof place>,
  type: string,
): Promise<void> {
  const values = await readExtraValues(kysely, schema, name, column);
  if (values.length === 0 || values.some(value => typeof read?.(value) === 'string')) return;
  throw new SluiceError(
    'usage',
    `No stored value of ${column} is of type ${type}, such as ${values[0]?.slice(0, 60)}.`,
    {
      next: `Types: ${TYPES.join(', ')}. See: sluice fields ${name}`,
    },
  );
}
