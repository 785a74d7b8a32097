import { basename } from 'node:path';
import type { Command } from 'commander';
import { withAnySignal } from '../../any-signal.ts';
import { plainName } from '../../engine/records/secret-names.ts';
import { SluiceError } from '../../errors.ts';
import { sourceOption } from '../../next-steps.ts';
import {
  checkLines,
  groupRequests,
  type Line,
  type Problem,
  PUSH_TARGETS,
  type PushTarget,
} from '../../push/targets.ts';
import { count, plural } from '../../service/format.ts';
import { acquireSourceLock } from '../../warehouse/database/source-lock.ts';
import { knownStates, type PushState } from '../../warehouse/pushes/pushes.ts';
import { readLines } from '../push/read-lines.ts';
import { type Sending, sendLines } from '../push/send-lines.ts';
import { applyMigrations, hasBookkeeping } from '../run/pending-migrations.ts';
import {
  type Cli,
  type ExitCode,
  NO_WAIT,
  newCommand,
  type OpenSource,
  parseWholeNumber,
  pathFrom,
  type Session,
} from '../session/session.ts';
import { jobsOf } from '../session/source-jobs.ts';
import { recognise, underLock } from '../session/source-settings.ts';
import type { Terminal } from '../session/terminal.ts';

const EXAMPLES = `sluice push customers new.csv            check the file and count the requests
sluice push customers new.csv --yes      create the lines that are not created yet
sluice push leads fair.ndjson --yes      one JSON object per line`;

type Options = Sending['options'] & { readonly yes?: boolean };

export function command(cli: Cli): Command {
  return newCommand('push', EXAMPLES)
    .argument('<resource>', `one of: ${Object.keys(PUSH_TARGETS).join(', ')}`)
    .argument('<file>', 'a .csv file with a header line, or an .ndjson file')
    .option('--yes', 'send the lines; without it, the file is only checked')
    .option('--batch <n>', 'customers per request', parseWholeNumber('--batch', 1, 1000), BATCH)
    .option('--resend-unknown', 'resend lines whose outcome is unknown; this may create duplicates')
    .option('--no-wait', NO_WAIT)
    .action(cli.action({ source: true }, push));
}

async function push(session: Session, name: string, path: string, options: Options): Promise<ExitCode> {
  const target = Object.hasOwn(PUSH_TARGETS, name) ? PUSH_TARGETS[name] : undefined;
  if (!target)
    throw new SluiceError('usage', `Cannot push "${name}".`, {
      next: `Resources: ${Object.keys(PUSH_TARGETS).join(', ')}.`,
    });
  const { settings, terminal } = session;
  const source = settings.single as OpenSource;
  refuseMasked(session, source, name, target);
  const { lines, problems } = checkLines(target, readLines(pathFrom(session, path), target));
  if (problems.length > 0) return showProblems(terminal, basename(path), name, lines.length, problems);
  if (lines.length === 0)
    throw new SluiceError('usage', `${path} contains no lines to push.`, {
      next: 'Expected: a header line followed by data lines, or one JSON object per line.',
    });
  const database = await session.openDatabase();
  const sending = { session, database, source, name, target, path, lines, options };
  if (!options.yes) return showPlan(sending);
  await applyMigrations(session, database);
  await recognise(database, source);
  return underLock(
    await acquireSourceLock(database, `${source.name}, push of ${name}`),
    `pushing ${name} to this source, so nothing was sent`,
    ({ lost }) =>
      withAnySignal([session.signal, lost], async ({ signal }) =>
        showPushed(terminal, await sendLines({ ...sending, session: { ...session, signal } })),
      ),
    'Wait until it has finished or stop it, then run this command again.',
  );
}

/** The books keep each line, and recognise its row by its values. */
function refuseMasked({ jobs, settings }: Session, source: OpenSource, name: string, { body }: PushTarget): void {
  const masks = Object.keys(jobsOf(source, jobs, settings.hashKey).get(name)?.masks ?? {});
  const bare = source.never.filter(text => !text.includes('.'));
  const fields = Object.keys(body.shape).map(plainName);
  const masked = new Set(
    [...masks, ...bare].filter(field => fields.includes(plainName(field.split('.')[0] as string))),
  );
  if (masked.size === 0) return;
  throw new SluiceError(
    'configuration',
    `${name} cannot be pushed: SOURCE_NEVER and SOURCE_HASH keep ${[...masked].join(', ')} from being stored.`,
    { next: 'Create the records at the source itself.' },
  );
}

/** How many lines a section shows; `--json` shows all. */
const MOST_SHOWN = 50;

function showProblems(
  terminal: Terminal,
  file: string,
  resource: string,
  good: number,
  problems: readonly Problem[],
): ExitCode {
  const message = `${file}: ${plural(problems.length, 'line')} of ${count(good + problems.length)} cannot be sent to ${resource}, so nothing was sent.`;
  terminal.show({ error: { kind: 'failed', message }, file, resource, problems }, () =>
    [message, ...problems.map(({ line, reason }) => `  line ${line}: ${reason}`)].join('\n'),
  );
  return 1;
}

function showPushed(terminal: Terminal, pushed: Awaited<ReturnType<typeof sendLines>>): ExitCode {
  const { source, resource, file, items, requests, listed } = pushed;
  const linesIn = (state: PushState) =>
    items
      .filter(item => item.state === state)
      .map(({ line, message }) => ({ line, message: message ?? 'no reason was given' }));
  const created = items.filter(item => item.state === 'created');
  const refused = linesIn('refused');
  const unknown = linesIn('unknown');
  const unseen = created
    .filter(item => listed && item.rowKey === null)
    .map(({ line, sourceId }) => ({ line, id: sourceId }));
  const stored = created.length - unseen.length;
  const good = refused.length + unknown.length + unseen.length === 0;
  const summary = `${file}: ${count(created.length)} of ${plural(items.length, 'line')} created; ${plural(requests, 'request')} sent in this run.`;
  const document = {
    ...{ source, resource, file, lines: items.length, created: created.length },
    ...{ inWarehouse: listed ? stored : null, requests, refused, unknown, unseen },
    ...(good ? {} : { error: { kind: 'failed', message: summary } }),
  };
  const unseenLines = unseen.map(({ line, id }) => ({
    line,
    message: id === null ? 'no id was returned' : `id ${id}`,
  }));
  terminal.show(document, () =>
    [
      summary,
      listed
        ? `  ${count(stored)} of them ${stored === 1 ? 'is' : 'are'} in the warehouse.`
        : `  ${notListed(resource)}`,
      ...section('refused by the source; the next push sends them again:', refused),
      ...section('with unknown outcome; check the source, or retry with --resend-unknown:', unknown),
      ...section('created according to the source, but not in its list:', unseenLines),
    ].join('\n'),
  );
  return good ? 0 : 1;
}

function section(title: string, lines: readonly { line: number; message: string }[]): string[] {
  if (lines.length === 0) return [];
  const shown = lines.slice(0, MOST_SHOWN).map(({ line, message }) => `  line ${line}: ${message}`);
  const more = lines.length - shown.length;
  return [
    `${plural(lines.length, 'line')} ${title}`,
    ...shown,
    ...(more > 0 ? [`  and ${count(more)} more (--json shows all)`] : []),
  ];
}

const notListed = (resource: string): string =>
  `The API has no list of ${resource}, so created records cannot be read back.`;

/** Lines per batch by default. The API documents no maximum. */
const BATCH = 100;

/** Sends nothing and migrates nothing: a database without tables has no states. */
async function showPlan(sending: Sending): Promise<ExitCode> {
  const { session, database, source, name: resource, target, path, lines, options } = sending;
  const { batch, resendUnknown = false } = options;
  // The API has a list of them, so created records can be read back.
  const listed = session.jobs.has(resource);
  const hashes = [...new Set(lines.map(line => line.hash))];
  const hasStates = await hasBookkeeping(session, database);
  const place = { source: source.name, resource };
  const states = hasStates ? await knownStates(database.kysely, place, hashes) : new Map<string, PushState>();
  const stateOf = (line: Line) => states.get(`${line.hash} ${line.ordinal}`);
  const isUnknown = (line: Line) => ['sent', 'unknown'].includes(stateOf(line) ?? '');
  const created = lines.filter(line => stateOf(line) === 'created').length;
  const unknown = resendUnknown && !listed ? 0 : lines.filter(isUnknown).length;
  const sent = lines.filter(line => stateOf(line) !== 'created' && (unknown === 0 || !isUnknown(line)));
  const toSend = sent.length;
  const parcels = groupRequests(target, sent, batch);
  const requests = parcels.length;
  const batches = parcels.filter(parcel => parcel.batch).length;
  const counts = { lines: lines.length, toSend, requests, batches, created, unknown };
  session.terminal.show({ dryRun: true, ...place, file: path, ...counts, readBack: listed }, () => {
    const single = batches > 0 ? ` (${batches} with up to ${batch} lines, ${requests - batches} with one)` : '';
    const fate = listed
      ? 'would be looked up at the source, and sent if absent'
      : 'cannot be looked up, so they are sent only with --resend-unknown';
    const again = `${batch === BATCH ? '' : ` --batch ${batch}`}${resendUnknown ? ' --resend-unknown' : ''}${sourceOption(source.name)}`;
    const next = [
      listed
        ? `Afterwards ${resource} are synced, which costs further requests, so that the created records are in the warehouse.`
        : notListed(resource),
      `To send: sluice push ${resource} ${path} --yes${again}`,
    ];
    return [
      `${path}: ${plural(lines.length, 'line')}, all valid. Dry run: nothing was sent.`,
      `  ${count(toSend)} would be created at source ${source.name}, with ${plural(requests, 'request')}${single}`,
      ...(created > 0
        ? [`  ${count(created)} ${created === 1 ? 'is' : 'are'} already created and would not be sent`]
        : []),
      ...(unknown > 0 ? [`  ${count(unknown)} may already be created: ${fate}`] : []),
      ...(toSend + unknown === 0 ? ['Nothing is left to send.'] : next),
    ].join('\n');
  });
  return 0;
}
