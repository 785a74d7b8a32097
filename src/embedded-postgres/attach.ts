import { lstat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { codeOf, SluiceError } from '../errors.ts';
import type { Log } from '../log.ts';
import { passwordFile, serverLog } from './home-files.ts';
import { findPostmaster } from './postmaster-pid.ts';
import { type Addresses, readAddresses } from './roles/addresses.ts';
import { READER } from './roles/role-names.ts';
import { areRolesIntact, setUpRoles } from './roles/set-up-roles.ts';
import { startError } from './server-errors.ts';
import { START_TIMEOUT_MS } from './server-process.ts';

/** The addresses of the running server after a successful connection, undefined if none runs. Waits while it starts or stops. */
export async function attach(home: string, log: Log): Promise<Addresses | undefined> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const server = await findPostmaster(home);
    if (!server) return undefined;
    const addresses = server.ready ? await tryConnect(home, server.port, log) : undefined;
    if (addresses) return addresses;
    if (Date.now() > deadline) throw await startError(home);
    await delay(100);
  }
}

/** Connects, after setting up roles and database if they are absent or were changed. Undefined while the server starts or stops. */
async function tryConnect(home: string, port: number, log: Log): Promise<Addresses | undefined> {
  try {
    const roles = await checkRoles(home, port);
    if (roles !== 'intact') {
      await refuseForeign(home);
      if (roles === 'changed') log.warn({ home }, `restoring the password, settings and grants of the login ${READER}`);
      await setUpRoles(home, port);
    }
    return await readAddresses(home, port);
  } catch (error) {
    if (error instanceof SluiceError) throw error;
    const code = codeOf(error);
    // 57P03, 57P01: starting or stopping; a server that has just exited refuses or resets the connection.
    if (code === '57P03' || code === '57P01' || code === 'ECONNREFUSED' || code === 'ECONNRESET') return undefined;
    throw new SluiceError(
      'database',
      `The embedded Postgres on port ${port} runs, but rejects connections (${code || 'no answer'}).`,
      { next: `See ${serverLog(home)}, or stop it with "sluice stop-db".`, cause: error },
    );
  }
}

/** Absent on a new server, and on one that an earlier version set up with a superuser as its only login. */
async function checkRoles(home: string, port: number): Promise<'intact' | 'changed' | 'absent'> {
  const addresses = await readAddresses(home, port);
  if (!addresses) return 'absent';
  try {
    return (await areRolesIntact(addresses)) ? 'intact' : 'changed';
  } catch (error) {
    // The database or its owner does not exist yet.
    if (codeOf(error) === '3D000' || codeOf(error) === '28P01') return 'absent';
    throw error;
  }
}

/** Passwords that root wrote into another user's home would lock that user out. */
async function refuseForeign(home: string): Promise<void> {
  const known = await lstat(passwordFile(home)).catch(error => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (known === undefined || known.uid === process.getuid?.()) return;
  throw new SluiceError('database', `The embedded Postgres in ${home} belongs to another user (id ${known.uid}).`, {
    next: 'An earlier version set it up. Run "sluice status" once as that user, which brings it up to date.',
  });
}
