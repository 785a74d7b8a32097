import { createHash } from 'node:crypto';
import { chown, mkdir, realpath, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SluiceError } from '../errors.ts';
import type { Log } from '../log.ts';
import { present, readIfPresent } from './files.ts';
import { runBinary, type ServerUser, unprivilegedUser } from './run.ts';

export const dataOf = (home: string) => join(home, 'data');

/** The home that an earlier start chose. */
export async function locate(base: string): Promise<string | undefined> {
  const pointer = await readIfPresent(join(base, 'postgres.location'));
  if (pointer) return pointer.trim();
  const own = join(base, 'postgres');
  return (await present(own)) ? own : undefined;
}

/** The home, made where it is not there yet, and the user its server runs as. */
export async function settle(base: string, log: Log): Promise<{ home: string; user: ServerUser }> {
  const known = await locate(base);
  if (known && (await present(dataOf(known)))) {
    const user = await ownerOf(known);
    if (user && !(await canUse(known, user))) {
      throw new SluiceError(
        'database',
        `The embedded Postgres runs as user id ${user.uid}, which cannot enter ${known}.`,
        {
          next: 'Make its parent folders enterable (chmod o+x), or set DATABASE_URL.',
        },
      );
    }
    return { home: known, user };
  }
  if (known && known !== join(base, 'postgres'))
    log.warn({ home: known }, 'the embedded Postgres is gone; making a new one');
  if (process.getuid?.() !== 0) {
    const home = known ?? join(base, 'postgres');
    await mkdir(home, { recursive: true, mode: 0o700 });
    return { home, user: undefined };
  }
  const user = unprivilegedUser();
  const own = join(base, 'postgres');
  if (await makeFor(own, user)) return { home: own, user };
  await rmdir(own).catch(() => undefined);
  const elsewhere = join(
    '/var/lib/sluice',
    createHash('sha256')
      .update(await realpath(base))
      .digest('hex')
      .slice(0, 16),
  );
  if (!(await makeFor(elsewhere, user))) {
    throw new SluiceError(
      'configuration',
      `Postgres refuses to run as root, and user id ${user.uid} can enter neither ${own} nor ${elsewhere}.`,
      {
        next: 'Set SLUICE_DATA_DIR to a folder which ordinary users can enter, run as an ordinary user, or set DATABASE_URL.',
      },
    );
  }
  await writeFile(join(base, 'postgres.location'), `${elsewhere}\n`);
  return { home: elsewhere, user };
}

async function makeFor(home: string, user: { uid: number; gid: number }): Promise<boolean> {
  await mkdir(home, { recursive: true, mode: 0o755 });
  await chown(home, user.uid, user.gid);
  return canUse(home, user);
}

/** Asked of the system itself, as that user, because modes alone leave out access lists and mount options. */
async function canUse(folder: string, user: { uid: number; gid: number }): Promise<boolean> {
  const { code } = await runBinary('/bin/sh', ['-c', 'cd "$0" && test -w .', folder], { cwd: '/', user });
  return code === 0;
}

/** As root, the server runs as whoever owns its data; otherwise as ourselves, and the data has to be ours. */
export async function ownerOf(home: string): Promise<ServerUser> {
  const me = process.getuid?.();
  if (me === undefined) return undefined;
  const { uid, gid } = await stat(dataOf(home));
  if (me === 0) return { uid, gid };
  if (uid === me) return undefined;
  throw new SluiceError('database', `The embedded Postgres in ${home} belongs to another user.`, {
    next: 'Run as the user who first started it, or set DATABASE_URL.',
  });
}
