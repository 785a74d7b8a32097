import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { tableDeclaration } from '../../engine/resource.ts';
import { SluiceError } from '../../errors.ts';
import { plural } from '../../service/format.ts';
import { acquireSourceLock } from '../../warehouse/database/source-lock.ts';
import { forgetSource, refuseOthersRows } from '../../warehouse/ledgers/sources.ts';
import { resetResource } from '../../warehouse/rows/reset.ts';
import { type Cli, newCommand, type Session } from '../cli.ts';
import { chosenResources } from '../cli-options.ts';
import { bringUpToDate } from '../run/pending-migrations.ts';

export function resetCommand(cli: Cli): Command {
  return newCommand(
    'reset',
    'Forget one resource: its rows and all that is known of them',
    'sluice reset transactions --yes',
  )
    .argument('<resource>', 'the resource to forget')
    .option('--yes', 'without asking')
    .action(
      cli.action({ source: false }, async (session, name: string, options: { yes?: boolean; source?: string }) => {
        const { terminal, settings, jobs } = session;
        chosenResources(jobs, [name]);
        const { sourceName, schema } = settings;
        if (!options.yes) await confirm(session, name, options.source);
        const database = await session.openDatabase();
        await bringUpToDate(session, database);
        const lock = await acquireSourceLock(database, sourceName);
        if (!lock) {
          throw new SluiceError('failed', 'Another process is reading the source, so nothing was reset.', {
            next: 'Stop it (or wait until it has finished), then repeat the command.',
          });
        }
        try {
          const job = jobs.get(name);
          if (!job) return 1;
          const { name: table, children } = tableDeclaration(name, job, schema);
          const tables = { schema, table, children: children.map(child => child.table) };
          const { rows } = await database.transaction(async tx => {
            await refuseOthersRows(tx, { source: sourceName, schema });
            const forgotten = await resetResource(tx, { source: sourceName, resource: name }, tables);
            await forgetSource(tx, sourceName);
            return forgotten;
          });
          terminal.show(
            { resource: name, rows },
            () => `Forgot ${plural(rows, 'row')} of ${name}. Read it anew: sluice sync ${name}`,
          );
        } finally {
          await lock.release();
        }
        return 0;
      }),
    );
}

async function confirm({ terminal, signal }: Session, name: string, source?: string): Promise<void> {
  const next = `Repeat it with --yes: sluice reset ${name}${source === undefined ? '' : ` --source ${source}`} --yes`;
  if (!process.stdin.isTTY || terminal.json)
    throw new SluiceError('usage', 'reset deletes data, so it wants to be sure.', { next });
  const question = `Delete all rows of ${name} and their history here? (yes/no) `;
  if (!(await saysYes(question, { input: process.stdin, output: process.stderr, signal })))
    throw new SluiceError('stopped', 'Nothing was reset.');
}

/** Whether the answer is yes: another one, the end of input (Ctrl-D), Ctrl-C and the signal are none. */
export async function saysYes(
  question: string,
  given: { input: NodeJS.ReadableStream; output: NodeJS.WritableStream; signal: AbortSignal; terminal?: boolean },
): Promise<boolean> {
  const { signal, ...streams } = given;
  const asking = createInterface(streams);
  // Ctrl-C and Ctrl-D close it, and the question would then wait for good.
  const closed = new Promise<string>(resolve => asking.once('close', () => resolve('')));
  try {
    const answer = await Promise.race([asking.question(question, { signal }), closed]);
    return answer.trim().toLowerCase() === 'yes';
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') return false;
    throw error;
  } finally {
    asking.close();
  }
}
