import { readReceivers } from '../../config/receivers-file.ts';
import { didYouMean } from '../../nearest-name.ts';
import { parsePattern, RECEIVERS_FILE, type Receiver } from '../../receivers.ts';
import type { Database, Db } from '../../warehouse/database/database.ts';
import { lockForTransaction } from '../../warehouse/database/lock-key.ts';
import type { Session } from './session.ts';

/** The receivers as the file is now; no output shows their secrets from now on. Kind `configuration` for a wrong file. */
export function hiddenReceivers({ shell, terminal }: Pick<Session, 'shell' | 'terminal'>): Receiver[] {
  const receivers = readReceivers(shell.cwd);
  terminal.hide(receivers.flatMap(secretsOf));
  return receivers;
}

/**
 * Passes on the receivers as the file is then, which no other command changes meanwhile. What `change` does in the transaction is undone if it throws:
 * it writes the file last.
 */
export const changeReceivers = <T>(
  session: Pick<Session, 'shell' | 'terminal'>,
  database: Database,
  change: (tx: Db, known: readonly Receiver[]) => Promise<T>,
): Promise<T> =>
  database.transaction(async tx => {
    await lockForTransaction(tx, 'receivers', RECEIVERS_FILE);
    return change(tx, hiddenReceivers(session));
  });

export const CORRECT_RECEIVERS = `Correct ${RECEIVERS_FILE}; a running service follows.`;

/** What a receiver names and there is not, so that it is never delivered; null if there is all of it. */
export function describeUnknown(
  { settings: { sourceNames }, jobs }: Pick<Session, 'settings' | 'jobs'>,
  { source, on }: Pick<Receiver, 'source' | 'on'>,
): string | null {
  const lists = [...jobs.keys()];
  const named = on.flatMap(text => parsePattern(text)?.resource ?? []).filter(list => list !== '*');
  const unknown = [
    ...(sourceNames.includes(source) ? [] : [`source "${source}"${didYouMean(source, sourceNames)}`]),
    ...[...new Set(named)].filter(list => !jobs.has(list)).map(list => `list "${list}"${didYouMean(list, lists)}`),
  ];
  return unknown.length === 0 ? null : `it names what there is not: ${unknown.join(', ')}`;
}

/** A long path holds a key, as those of Slack do; a short one is a word that may stand anywhere. */
const SECRET_PATH = 20;

export function secretsOf({ url, secret }: Pick<Receiver, 'url' | 'secret'>): string[] {
  const { pathname, search } = new URL(url);
  const path = `${pathname}${search}`;
  return [url, ...(path.length < SECRET_PATH ? [] : [path]), ...(secret === undefined ? [] : [secret])];
}
