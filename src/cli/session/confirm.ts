import { createInterface } from 'node:readline/promises';
import { SluiceError } from '../../errors.ts';
import type { Session } from './session.ts';

/** Asks on the terminal before data is deleted; without one, or with --json, the command has to be given again as `command`. */
export async function confirm(
  { terminal, shell, signal }: Pick<Session, 'terminal' | 'shell' | 'signal'>,
  { name, question, command }: { name: string; question: string; command: string },
): Promise<void> {
  if (!shell.stdin.isTTY || terminal.json)
    throw new SluiceError('usage', `${name} deletes data and needs a confirmation.`, {
      next: `To confirm: ${command}`,
    });
  if (!(await saysYes(`${question} (yes/no) `, { input: shell.stdin, output: shell.stderr, signal })))
    throw new SluiceError('stopped', 'Nothing was deleted.');
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
