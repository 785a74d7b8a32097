import type { Command } from 'commander';
import { SluiceError } from '../../errors.ts';
import { sourceOption } from '../../next-steps.ts';
import { count, moment, plural, restatedText, sumsText, valueText } from '../../service/format.ts';
import { type ClosedMonth, closeMonth } from '../../service/orders/close-month.ts';
import type { Database } from '../../warehouse/database/database.ts';
import {
  countRestatements,
  type Restatement,
  readRestatements,
  readSeals,
  type Seal,
  sealedLines,
} from '../../warehouse/rows/seals.ts';
import { withResultFile } from '../output/result-file.ts';
import { checkSealFile } from '../output/seal-file.ts';
import { table } from '../output/table.ts';
import { openMigrated } from '../run/pending-migrations.ts';
import { readNamed } from '../session/read-named.ts';
import { type Cli, type ExitCode, newCommand, pathFrom, type Session } from '../session/session.ts';

const EXAMPLES = `sluice close                                what was closed, and what changed since
sluice close 2025-03                        close March, or show it
sluice close 2025-03 --again                accept what changed since
sluice close 2025-03 --export march.jsonl   for those who have to rely on it
sluice close --check march.jsonl            without database or network`;

/** A table of more rows is no longer read. */
const MOST_SHOWN = 20;

interface Options {
  readonly again?: boolean;
  readonly export?: string;
  readonly check?: string;
  readonly digest?: string;
}

export function command(cli: Cli): Command {
  return newCommand('close', EXAMPLES)
    .argument('[month]', 'such as 2025-03 (default: list the closed months)')
    .option('--again', 'close it again with its present rows; replaces what was closed')
    .option('--export <file>', 'write its rows as they were, and what changed since, to this file')
    .option('--check <file>', 'check that such a file holds the rows that were closed')
    .option('--digest <sha256>', 'with --check: the digest that the month must have')
    .action(cli.action({ source: false }, close));
}

async function close(session: Session, month: string | undefined, options: Options): Promise<ExitCode> {
  if (options.check !== undefined) return check(session, options.check, month, options);
  if (options.digest !== undefined)
    throw new SluiceError('usage', '--digest is of a file, and none was given with --check.', {
      next: 'Example: sluice close --check march.jsonl --digest <sha256>. Nothing was closed.',
    });
  const { terminal, settings, jobs } = session;
  const { name, schema, timeZone } = settings.single;
  const database = await openMigrated(session);
  if (month === undefined) {
    if (options.again || options.export !== undefined)
      throw new SluiceError('usage', 'No month was given.', { next: 'Example: sluice close 2025-03' });
    return list(session, database);
  }
  const seal = await closeMonth(database, { name, schema, timeZone, jobs }, month, options);
  const restatements = await readRestatements(database.kysely, name, { month });
  if (options.export !== undefined) {
    const lines = await exportSeal(database, name, seal, pathFrom(session, options.export));
    terminal.note(`${plural(lines, 'line')} written to ${options.export}`);
  }
  const { id: _, isNew, ...shown } = seal;
  terminal.show({ source: name, ...shown, closed: isNew, restatements }, () =>
    [...describe(session, seal), ...describeChanges(session, seal, restatements)].join('\n'),
  );
  return 0;
}

async function list({ terminal, settings }: Session, database: Database): Promise<ExitCode> {
  const { name: source, timeZone } = settings.single;
  const seals = await readSeals(database.kysely, source);
  const restated = await countRestatements(database.kysely, source, { isExact: true });
  terminal.show(
    {
      source,
      months: seals.map(seal => ({ ...seal, restated: restated.filter(({ month }) => month === seal.month) })),
    },
    () =>
      seals.length === 0
        ? `No month is closed. To close one: sluice close 2025-03${sourceOption(source)}`
        : table(
            terminal.colors,
            ['month', 'closed', 'rows', 'changed since', 'digest'],
            seals.map(({ month, sealedAt, lists, digest }) => [
              month,
              moment(sealedAt, timeZone),
              count(lists.reduce((sum, { rows }) => sum + rows, 0)),
              restated
                .filter(each => each.month === month)
                .map(each => `${each.resource}: ${restatedText(each)}`)
                .join('; ') || '–',
              `${digest.slice(0, 16)}..`,
            ]),
            { right: [2], wrap: { 3: 34 } },
          ),
  );
  return 0;
}

function describe({ terminal, settings }: Session, { month, sealedAt, digest, lists, isNew }: ClosedMonth): string[] {
  const { timeZone } = settings.single;
  const when = isNew ? 'is closed' : `was closed ${moment(sealedAt, timeZone)}`;
  return [`${month} ${when}. SHA-256: ${digest}`, '', listTable(terminal.colors, lists), ''];
}

const listTable = (colors: Session['terminal']['colors'], lists: Seal['lists']): string =>
  table(
    colors,
    ['list', 'rows', 'sums'],
    lists.map(({ resource, rows, sums }) => [resource, count(rows), sumsText(sums)]),
    { right: [1] },
  );

function describeChanges({ terminal, settings }: Session, { month }: Seal, all: readonly Restatement[]): string[] {
  if (all.length === 0) return ['Nothing has changed since.'];
  const whatChanged = ({ kind, before, after }: Restatement) =>
    kind === 'changed'
      ? Object.keys(before ?? {}).map(
          field => `${field}: ${valueText(before?.[field])} -> ${valueText(after?.[field])}`,
        )
      : [''];
  const shown = all.slice(0, MOST_SHOWN);
  return [
    `${plural(all.length, 'row')} ${all.length === 1 ? 'has' : 'have'} changed since:`,
    table(
      terminal.colors,
      ['list', 'key', '', 'what'],
      shown.map(each => [each.resource, each.key, each.kind, whatChanged(each)]),
      { wrap: { 3: 60 } },
    ),
    ...(all.length > shown.length ? [`and ${count(all.length - shown.length)} more: select * from restatements`] : []),
    '',
    `To accept them: sluice close ${month} --again${sourceOption(settings.single.name)}`,
  ];
}

/** Returns the number of lines. */
async function exportSeal(database: Database, source: string, seal: Seal, path: string): Promise<number> {
  return withResultFile(path, async write => {
    let lines = 0;
    for await (const some of sealedLines(database.kysely, source, seal)) {
      lines += some.length;
      await write(some.map(line => `${line}\n`).join(''));
    }
    return lines;
  });
}

function check(session: Session, given: string, month: string | undefined, options: Options): ExitCode {
  if (month !== undefined || options.again || options.export !== undefined)
    throw new SluiceError('usage', '--check reads a file; it cannot be combined with a month, --again or --export.', {
      next: 'Example: sluice close --check march.jsonl',
    });
  const { terminal } = session;
  const checked = checkSealFile(
    readNamed(pathFrom(session, given), 'a file that sluice close <month> --export wrote.'),
  );
  const { source, month: closed, digest, lists, restated, erased } = checked;
  if (options.digest !== undefined && options.digest.toLowerCase() !== digest)
    throw new SluiceError('failed', `${given} is intact, but has another digest: ${digest}`);
  const changes = restatedText(restated);
  terminal.show({ sound: true, ...checked }, () =>
    [
      `The file is intact. It shows ${closed} of ${source} as closed${options.digest === undefined ? ', provided that this is the digest you were given' : ''}:`,
      digest,
      '',
      listTable(terminal.colors, lists),
      '',
      changes
        ? `According to the file, rows have changed since: ${changes}.`
        : 'According to the file, nothing has changed since.',
      ...(erased > 0
        ? [`${plural(erased, 'row')} ${erased === 1 ? 'was' : 'were'} erased; only the hashes are left.`]
        : []),
    ].join('\n'),
  );
  return 0;
}
