import { type Command, Option } from 'commander';
import { SluiceError } from '../../errors.ts';
import { didYouMean } from '../../nearest-name.ts';
import { count } from '../../service/format.ts';
import { describeRelations, type Relation } from '../../warehouse/reports/data-tables.ts';
import { dbtSources } from '../output/dbt-sources.ts';
import { withResultFile } from '../output/result-file.ts';
import { wrappedTable } from '../output/table.ts';
import { TYPES_HEAD, warehouseTypes } from '../output/warehouse-types.ts';
import { openToRead } from '../run/pending-migrations.ts';
import { type Cli, newCommand, pathFrom, type Session } from '../session/session.ts';

const EXAMPLES = `sluice describe
sluice describe invoices
sluice describe --types --out warehouse.d.ts      types of its rows for TypeScript
sluice describe --dbt --out models/sluice.yml     sources for dbt`;

interface Options {
  readonly types?: boolean;
  readonly dbt?: boolean;
  readonly out?: string;
}

export function command(cli: Cli): Command {
  return newCommand('describe', EXAMPLES)
    .argument('[table]', 'a table or view: its columns')
    .addOption(new Option('--types', 'as TypeScript types, for Kysely').conflicts('dbt'))
    .option('--dbt', 'as sources for dbt')
    .option('--out <file>', 'write --types or --dbt to this file')
    .action(cli.action({ source: false }, describe));
}

async function describe(session: Session, name: string | undefined, options: Options): Promise<0> {
  const { terminal, settings, jobs } = session;
  const { schema } = settings.single;
  const asFile = options.types || options.dbt;
  if (name !== undefined && asFile) refuse('--types and --dbt describe all tables.', `Leave out ${name}.`);
  if (options.out !== undefined && !asFile)
    refuse('--out needs a form.', 'Add --types or --dbt, or redirect the output to a file.');
  const { kysely } = await openToRead(session);
  const relations = await describeRelations(kysely, schema);
  if (asFile) {
    const source = { name: schema === 'warehouse' ? 'sluice' : schema, schema, lists: [...jobs.keys()] };
    await writeFile(session, options, options.dbt ? dbtSources(relations, source) : typesOf(relations, schema));
    return 0;
  }
  if (name === undefined) {
    terminal.show({ schema, relations: relations.map(described) }, () => drawAll(session, relations));
    return 0;
  }
  const found = relations.find(each => each.name === name || `${schema}.${each.name}` === name);
  if (!found) {
    const near = didYouMean(
      name,
      relations.map(each => each.name),
    );
    return refuse(`The schema ${schema} has no table or view "${name}"${near}.`, 'List them: sluice describe');
  }
  terminal.show({ schema, ...described(found) }, () => drawOne(session, found));
  return 0;
}

function refuse(message: string, next: string): never {
  throw new SluiceError('usage', message, { next });
}

const typesOf = (relations: readonly Relation[], schema: string): string =>
  [TYPES_HEAD, warehouseTypes(relations, schema)].join('\n');

async function writeFile(session: Session, { out }: Options, text: string): Promise<void> {
  const { terminal } = session;
  if (out === undefined) return terminal.show({ text }, () => text.trimEnd());
  await withResultFile(pathFrom(session, out), write => write(text));
  terminal.show({ file: out }, () => `Written: ${out}`);
}

const described = ({ columns, ...relation }: Relation) => ({
  ...relation,
  columns: columns.map(({ name, type, comment, isKey, required }) => ({ name, type, comment, isKey, required })),
});

/** The views of versions would bury the others. */
function drawAll({ terminal: { colors }, settings, jobs }: Session, relations: readonly Relation[]): string {
  const rows = relations
    .filter(({ name }) => !name.endsWith('_history') || name === 'row_history')
    .map(({ name, kind, columns, comment }) => [name, kind, count(columns.length), comment]);
  const [list = 'customers'] = jobs.keys();
  return [
    wrappedTable(colors, ['name', 'kind', 'columns', 'what it holds'], rows, [2]),
    '',
    `The schema is ${settings.single.schema}. Every list has a view of all versions, such as ${list}_history.`,
    `The columns of one: sluice describe ${list}`,
  ].join('\n');
}

function drawOne({ terminal: { colors } }: Session, { name, comment, columns }: Relation): string {
  const rows = columns.map(column => [column.name, typeText(column), column.comment]);
  return [
    ...(comment === null ? [colors.bold(name)] : [`${colors.bold(name)}  ${comment}`]),
    '',
    wrappedTable(colors, ['column', 'type', 'meaning'], rows),
  ].join('\n');
}

/** `bigint, key`; short, as `psql` users write it. */
const typeText = ({ type, isKey }: Relation['columns'][number]): string =>
  `${type.replace('timestamp with time zone', 'timestamptz')}${isKey ? ', key' : ''}`;
