import type { Command } from 'commander';
import type { Job } from '../../engine/job.ts';
import { SluiceError } from '../../errors.ts';
import { count, plural } from '../../service/format.ts';
import { keptText, maskLines } from '../../service/status/list-fields.ts';
import { countFilled } from '../../warehouse/reports/extra-fields.ts';
import { changeInstallation } from '../lists/change-installation.ts';
import { COLUMN_TYPES, columnOf, masksOf, planDrop, planField, readFields } from '../lists/fields.ts';
import { changeListFile } from '../lists/list-file.ts';
import { table } from '../output/table.ts';
import { hasBookkeeping, openMigrated, refusePending } from '../run/pending-migrations.ts';
import { type Cli, newCommand, type Session, selectResources } from '../session/session.ts';

const EXAMPLES = `sluice fields invoices                          what the source sends beyond the columns
sluice fields add invoices project text
sluice fields add invoices items.discount decimal
sluice fields drop invoices project`;

export function command(cli: Cli): Command {
  return newCommand('fields', EXAMPLES)
    .argument('<resource>', 'the list whose fields are shown')
    .action(cli.action({ source: false }, showFields))
    .addCommand(
      newCommand('add', 'sluice fields add invoices project text --description "Project of the customer."')
        .description('Give a field a column, filled from what is stored, without a request')
        .argument('<resource>', 'the list')
        .argument('<field>', 'the field as the source calls it; of the rows inside, as items.discount')
        .argument('<type>', COLUMN_TYPES.join(', '))
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

async function showFields(session: Session, resource: string): Promise<0> {
  const { terminal, jobs, settings } = session;
  selectResources(jobs, [resource]);
  const { single } = settings;
  const database = await session.openDatabase();
  const isStored = await hasBookkeeping(session, database);
  if (isStored) await refusePending(session, database);
  const { fields, masks } = isStored
    ? await readFields(session, database, single, resource)
    : { fields: [], masks: masksOf(session, single, resource) };
  terminal.show({ resource, fields, masks }, () => {
    if (fields.length === 0)
      return [
        isStored
          ? `The source sends no fields of ${resource} beyond the columns.`
          : `Nothing of ${resource} is stored yet: sluice sync ${resource}`,
        ...maskLines(masks),
      ].join('\n');
    const rows = fields.map(each => [
      each.field,
      `${count(each.rows)} of ${count(each.total)}`,
      each.type ?? '-',
      each.examples.map(example => shortened(terminal.hidden(example))).join(', '),
      keptText(each),
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

const shortened = (text: string): string => (text.length > 24 ? `${text.slice(0, 23)}…` : text);

async function addField(
  session: Session,
  resource: string,
  field: string,
  type: string,
  { description }: { description: string },
  command: Command,
): Promise<0> {
  const { terminal } = session;
  refuseSource(command);
  const added = { resource, field, type, description };
  const { edit, database } = await planField(session, added, () => openMigrated(session));
  const { file, ...change } = changeListFile(session, resource, edit);
  const changed = await changeInstallation(session, database, change);
  const { table: name, column } = columnOf(resource, changed.jobs.get(resource) as Job, field);
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
  refuseSource(command);
  const edit = planDrop(session, resource, field);
  const database = await openMigrated(session);
  const { file, ...change } = changeListFile(session, resource, edit);
  await changeInstallation(session, database, change, { putsBack: true });
  const { table: name, column } = columnOf(resource, jobs.get(resource) as Job, field);
  terminal.show({ resource, field, table: name, file }, () =>
    [`${name}.${column} is no longer a column; its values are in _extra.`, `  written: ${file}`].join('\n'),
  );
  return 0;
}

function refuseSource(command: Command): void {
  if (command.optsWithGlobals<{ source?: string }>().source !== undefined)
    throw new SluiceError('usage', 'A file in lists/ holds for all sources.', { next: 'Leave out --source.' });
}
