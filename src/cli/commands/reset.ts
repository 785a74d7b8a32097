import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import type { Job } from '../../engine/job.ts';
import { SluiceError } from '../../errors.ts';
import { plural } from '../../service/format.ts';
import { acquireSourceLock, LOCK_WAIT_MS } from '../../warehouse/database/source-lock.ts';
import { forgetSource, refuseOthersRows } from '../../warehouse/ledgers/sources.ts';
import { resetResource } from '../../warehouse/rows/reset.ts';
import { openMigrated } from '../run/pending-migrations.ts';
import { type Cli, type ExitCode, newCommand, type Session, selectResources } from '../session/session.ts';
import { underLock } from '../session/source-settings.ts';

interface Options {
  readonly yes?: boolean;
  readonly source?: string;
}

export function resetCommand(cli: Cli): Command {
  return newCommand(
    'reset',
    'Delete the rows of one resource here, and everything recorded about them',
    'sluice reset transactions --yes',
  )
    .argument('<resource>', 'the resource to reset')
    .option('--yes', 'do not ask for confirmation')
    .action(cli.action({ source: false }, reset));
}

async function reset(session: Session, name: string, options: Options): Promise<ExitCode> {
  const { terminal, settings, jobs } = session;
  selectResources(jobs, [name]);
  const { name: source, schema } = settings.single;
  if (!options.yes) await confirm(session, name, options.source);
  const database = await openMigrated(session);
  const lock = await acquireSourceLock(database, source, 'reset', { waitMs: LOCK_WAIT_MS });
  return underLock(lock, 'reading the source, so nothing was reset', async (): Promise<0> => {
    const children = Object.values((jobs.get(name) as Job).children).map(({ table }) => table);
    const { rows } = await database.transaction(async tx => {
      await refuseOthersRows(tx, { source, schema });
      const deleted = await resetResource(tx, { source, resource: name }, { schema, table: name, children });
      await forgetSource(tx, source);
      return deleted;
    });
    terminal.show(
      { resource: name, rows },
      () => `Deleted ${plural(rows, 'row')} of ${name} here. To read them again: sluice sync ${name}`,
    );
    return 0;
  });
}

async function confirm({ terminal, signal }: Session, name: string, source?: string): Promise<void> {
  const next = `To confirm: sluice reset ${name}${source === undefined ? '' : ` --source ${source}`} --yes`;
  if (!process.stdin.isTTY || terminal.json)
    throw new SluiceError('usage', 'reset deletes data and needs a confirmation.', { next });
  const question = `Delete all rows of ${name} and their history from the warehouse? (yes/no) `;
  if (!(await saysYes(question, { input: process.stdin, output: process.stderr, signal })))
    throw new SluiceError('stopped', 'Nothing was reset.');
}

/** True only for the answer "yes"; end of input (Ctrl-D), Ctrl-C and the signal count as no. */
export async function saysYes(
  question: string,
  given: { input: NodeJS.ReadableStream; output: NodeJS.WritableStream; signal: AbortSignal; terminal?: boolean },
): Promise<boolean> {
  const { signal, ...streams } = given;
  const prompt = createInterface(streams);
  // Ctrl-C and Ctrl-D close the interface, after which the question would never be answered.
  const closed = new Promise<string>(resolve => prompt.once('close', () => resolve('')));
  try {
    const answer = await Promise.race([prompt.question(question, { signal }), closed]);
    return answer.trim().toLowerCase() === 'yes';
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') return false;
    throw error;
  } finally {
    prompt.close();
  }
}
