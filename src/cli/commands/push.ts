import { basename } from 'node:path';
import type { Command } from 'commander';
import { SluiceError } from '../../errors.ts';
import { checkLines, type Line } from '../../push/lines.ts';
import { PUSH_TARGETS } from '../../push/targets.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { acquireSourceLock } from '../../warehouse/database/source-lock.ts';
import { knownStates, type PushState } from '../../warehouse/pushes/pushes.ts';
import { type Cli, newCommand, type Outcome, type Session } from '../cli.ts';
import { wholeNumber } from '../cli-options.ts';
import { readLines } from '../push/input-file.ts';
import { BATCH, showPlan } from '../push/plan.ts';
import { showProblems, showPushed } from '../push/report.ts';
import { sendLines } from '../push/run.ts';
import { bringUpToDate, hasBookkeeping } from '../run/pending-migrations.ts';
import { isOpen, type OpenSource, recognise } from '../source-settings.ts';

const EXAMPLE = `sluice push customers new.csv            check the file, and tell how many requests it takes
sluice push customers new.csv --yes      create what was not created yet
sluice push leads fair.ndjson --yes      one JSON object a line`;

interface Options {
  readonly yes?: boolean;
  readonly wait: boolean;
  readonly batch: number;
  readonly resendUnknown?: boolean;
}

export function pushCommand(cli: Cli): Command {
  return newCommand('push', 'Create at the source what a file holds, each line once', EXAMPLE)
    .argument('<resource>', Object.keys(PUSH_TARGETS).join(', '))
    .argument('<file>', 'a .csv file with a header line, or an .ndjson file')
    .option('--yes', 'send it; without, nothing is sent')
    .option('--batch <n>', 'customers to a request', wholeNumber('--batch', 1, 1000), BATCH)
    .option('--resend-unknown', 'send once more what may have been created, and could not be looked for')
    .option('--no-wait', 'stop with exit code 75 instead of waiting for the request limit; the same command goes on')
    .action(cli.action({ source: true }, push));
}

async function push(session: Session, name: string, path: string, options: Options): Promise<Outcome> {
  const target = Object.hasOwn(PUSH_TARGETS, name) ? PUSH_TARGETS[name] : undefined;
  if (!target)
    throw new SluiceError('usage', `"${name}" cannot be pushed.`, {
      next: `What can be: ${Object.keys(PUSH_TARGETS).join(', ')}.`,
    });
  const { settings, terminal, jobs } = session;
  const { sourceName } = settings;
  const source = settings.sources.find(isOpen) as OpenSource;
  const file = basename(path);
  const { lines, problems } = await checkLines(target, readLines(path, target));
  if (problems.length > 0) return showProblems(terminal, { file, resource: name, good: lines.length, problems });
  if (lines.length === 0)
    throw new SluiceError('usage', `${path} holds no line to push.`, {
      next: 'Expected: a header and a line below it, or a JSON object a line.',
    });
  const database = await session.openDatabase();
  const place = { source: sourceName, resource: name };
  if (!options.yes) {
    const states = await statesOf(session, database, place, lines);
    const plan = { ...place, path, lines, states, target, listed: jobs.has(name), ...options };
    return showPlan(terminal, plan);
  }
  await bringUpToDate(session, database);
  await recognise(database, source);
  const lock = await acquireSourceLock(database, `${sourceName}, push of ${name}`);
  if (!lock)
    throw new SluiceError('failed', `Another process is pushing ${name} to this source, so nothing was sent.`, {
      next: 'Wait until it has ended, or stop it; then repeat the command.',
    });
  try {
    const given = { session, database, source, lost: lock.lost, name, target, file, lines, options };
    return showPushed(terminal, await sendLines(given));
  } finally {
    await lock.release();
  }
}

/** Nothing is migrated for a dry run; what is not there yet knows no line. */
async function statesOf(
  session: Session,
  database: Database,
  place: { source: string; resource: string },
  lines: readonly Line[],
): Promise<ReadonlyMap<string, PushState>> {
  if (!(await hasBookkeeping(session, database))) return new Map();
  const hashes = [...new Set(lines.map(line => line.hash))];
  return knownStates(database.kysely, place, hashes);
}
