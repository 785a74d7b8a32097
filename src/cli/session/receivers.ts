import { readReceivers } from '../../config/receivers-file.ts';
import type { Receiver } from '../../receivers.ts';
import type { Session } from './session.ts';

/** The receivers as the file is now; no output shows their secrets from now on. Kind `configuration` for a wrong file. */
export function hiddenReceivers({ shell, terminal }: Pick<Session, 'shell' | 'terminal'>): Receiver[] {
  const receivers = readReceivers(shell.cwd);
  terminal.hide(receivers.flatMap(secretsOf));
  return receivers;
}

/** A long path holds a key, as those of Slack do; a short one is a word that may stand anywhere. */
const SECRET_PATH = 20;

export function secretsOf({ url, secret }: Pick<Receiver, 'url' | 'secret'>): string[] {
  const { pathname, search } = new URL(url);
  const path = `${pathname}${search}`;
  return [url, ...(path.length < SECRET_PATH ? [] : [path]), ...(secret === undefined ? [] : [secret])];
}
