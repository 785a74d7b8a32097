import { execFileSync } from 'node:child_process';
import { SluiceError } from '../errors.ts';
import { USE_OWN_POSTGRES } from './server-errors.ts';

export interface UserIds {
  readonly uid: number;
  readonly gid: number;
}

/** The user that the server runs as; undefined is the current user. Root must name another one: Postgres refuses root. */
export type ServerUser = UserIds | undefined;

/** The user for a server that root starts: `postgres` where it exists, else `nobody`. */
export function unprivilegedUser(): UserIds {
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string) => Number(execFileSync('id', [flag, name], { stdio: ['ignore', 'pipe', 'ignore'] }));
      return { uid: id('-u'), gid: id('-g') };
    } catch {
      // This user does not exist; try the next.
    }
  }
  throw new SluiceError(
    'configuration',
    'Postgres refuses to run as root, and this machine has neither a user "postgres" nor a user "nobody".',
    { next: `Run Sluice as an ordinary user, or ${USE_OWN_POSTGRES}.` },
  );
}
