import { basename } from 'node:path';
import type { Command } from 'commander';
import { SluiceError } from '../../errors.ts';
import { checkLines, type Line } from '../../push/check-lines.ts';
import { PUSH_TARGETS } from '../../push/targets.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { acquireSourceLock } from '../../warehouse/database/source-lock.ts';
import { knownStates, type PushState } from '../../warehouse/pushes/pushes.ts';
import { readLines } from '../push/read-lines.ts';
import { BATCH, showPlan, showProblems, showPushed } from '../push/report.ts';
import { sendLines } from '../push/send-lines.ts';
import { applyMigrations, hasBookkeeping } from '../run/pending-migrations.ts';
import { NO_WAIT, newCommand, wholeNumber } from '../session/cli-options.ts';
import type { Cli, Outcome, Session } from '../session/session.ts';
import { isOpen, type OpenSource, recognise } from '../session/source-settings.ts';

const EXAMPLES = `sluice push customers new.csv            check the file and count the requests
sluice push customers new.csv --yes      create the lines that are not created yet
sluice push leads fair.ndjson --yes      one JSON object per line`;

interface Options {
  readonly yes?: boolean;
  readonly wait: boolean;
  readonly batch: number;
  readonly resendUnknown?: boolean;
}

export function pushCommand(cli: Cli): Command {
  return newCommand('push', 'Create records at the source from a file, each line once', EXAMPLES)
    .argument('<resource>', `one of: ${Object.keys(PUSH_TARGETS).join(', ')}`)
    .argument('<file>', 'a .csv file with a header line, or an .ndjson file')
    .option('--yes', 'send the lines; without it, the file is only checked')
    .option('--batch <n>', 'customers per request', wholeNumber('--batch', 1, 1000), BATCH)
    .option('--resend-unknown', 'resend lines whose outcome is unknown; this may create duplicates')
    .option('--no-wait', NO_WAIT)
    .action(cli.action({ source: true }, push));
}

async function push(session: Session, name: string, path: string, options: Options): Promise<Outcome> {
  const target = Object.hasOwn(PUSH_TARGETS, name) ? PUSH_TARGETS[name] : undefined;
  if (!target)
    throw new SluiceError('usage', `Cannot push "${name}".`, {
      next: `Resources: ${Object.keys(PUSH_TARGETS).join(', ')}.`,
    });
  const { settings, terminal, jobs } = session;
  const { sourceName } = settings;
  const source = settings.sources.find(isOpen) as OpenSource;
  const file = basename(path);
  const { lines, problems } = await checkLines(target, readLines(path, target));
  if (problems.length > 0) return showProblems(terminal, { file, resource: name, good: lines.length, problems });
  if (lines.length === 0)
    throw new SluiceError('usage', `${path} contains no lines to push.`, {
      next: 'Expected: a header line followed by data lines, or one JSON object per line.',
    });
  const database = await session.openDatabase();
  const place = { source: sourceName, resource: name };
  if (!options.yes) {
    const states = await statesOf(session, database, place, lines);
    const plan = { ...place, path, lines, states, target, listed: jobs.has(name), ...options };
    return showPlan(terminal, plan);
  }
  await applyMigrations(session, database);
  await recognise(database, source);
  const lock = await acquireSourceLock(database, `${sourceName}, push of ${name}`);
  if (!lock)
    throw new SluiceError('failed', `Another process is pushing ${name} to this source, so nothing was sent.`, {
      next: 'Wait until it has finished or stop it, then run this command again.',
    });
  try {
    const given = { session, database, source, lost: lock.lost, name, target, file, lines, options };
    return showPushed(terminal, await sendLines(given));
  } finally {
    await lock.release();
  }
}

/** The recorded states of the lines. A dry run migrates nothing: a database without tables has no states. */
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
