import pg from 'pg';
import { SluiceError } from '../../errors.ts';

/** By SQLSTATE or errno: what happened, and the next step. */
const REASONS: Readonly<Record<string, readonly [what: string, next: string]>> = {
  ECONNREFUSED: ['nothing answers there', 'Check host and port in DATABASE_URL, and that the server runs.'],
  ENOTFOUND: ['there is no such host', 'Check the host in DATABASE_URL.'],
  EAI_AGAIN: ['its name could not be looked up', 'Check the network, then repeat the command.'],
  ETIMEDOUT: ['it does not answer', 'Check the network and firewalls between here and there, then repeat the command.'],
  EHOSTUNREACH: ['there is no way to it', 'Check the network, then repeat the command.'],
  ENETUNREACH: ['there is no way to it', 'Check the network, then repeat the command.'],
  ECONNRESET: ['the connection dropped', 'Repeat the command; it goes on where it was.'],
  EPIPE: ['the connection dropped', 'Repeat the command; it goes on where it was.'],
  '28P01': ['user or password is wrong', 'Correct them in DATABASE_URL.'],
  '28000': ['the server does not let this user in', 'Check the user in DATABASE_URL, and pg_hba.conf on the server.'],
  '3D000': ['there is no such database', 'Create it, or correct the name in DATABASE_URL.'],
  '42501': [
    'this user may not do that',
    'Let it create schemas: GRANT CREATE ON DATABASE .. TO .., and own the schemas that are there.',
  ],
  '53100': ['its disk is full', 'Free some space on the server, then repeat the command; it goes on where it was.'],
  '53200': ['it is out of memory', 'Give it more memory, or stop other work on it, then repeat the command.'],
  '53300': ['it takes no more connections', 'Raise max_connections, or close other programs that use it.'],
  '57P01': [
    'the connection was ended by an administrator',
    'Repeat the command when the server is back; it goes on where it was.',
  ],
  '57P02': ['the server crashed and is recovering', 'Repeat the command in a moment; it goes on where it was.'],
  '57P03': ['the server is starting up or shutting down', 'Repeat the command in a moment; it goes on where it was.'],
  '57P05': ['the connection was idle for too long', 'Repeat the command; it goes on where it was.'],
  '57014': [
    'a statement took too long and was cancelled',
    'Look for locks or load on the server, then repeat the command.',
  ],
  '25P03': ['a transaction was idle for too long', 'Repeat the command; it goes on where it was.'],
  '25006': ['it is read-only', 'Point DATABASE_URL at the primary server.'],
};
const DROPPED = REASONS.ECONNRESET as readonly [string, string];

/**
 * The kind `database` for what an operator can mend: the server out of reach, full, closed to us. Other errors, such as a
 * violated constraint, are ours and come back as they are.
 */
export function explainDatabaseError(error: unknown, place: string): unknown {
  if (!(error instanceof Error) || error instanceof SluiceError) return error;
  const reason = reasonOf(error);
  if (!reason) return error;
  return new SluiceError('database', `The database at ${place}: ${reason[0]}.`, { next: reason[1], cause: error });
}

function reasonOf(error: Error & { code?: string; errors?: unknown[] }): readonly [string, string] | undefined {
  const { code } = error;
  if (code !== undefined && REASONS[code]) return REASONS[code];
  // A host with several addresses: one error for each.
  if (error instanceof AggregateError) return error.errors[0] instanceof Error ? reasonOf(error.errors[0]) : DROPPED;
  // Class 08 is a connection failure, 53 is lack of a resource, 58 the server's own system.
  if (error instanceof pg.DatabaseError) {
    if (code?.startsWith('08')) return DROPPED;
    if (code?.startsWith('53')) return ['it lacks a resource', 'See the server log, then repeat the command.'];
    if (code?.startsWith('58') || code?.startsWith('XX')) {
      return [
        `it reports an internal error (${code})`,
        'See the server log; the disk or the data files may be damaged.',
      ];
    }
    return undefined;
  }
  // TLS refusals carry Node's codes; the driver's own errors (ended, timed out, not queryable) carry none, and all mean that the
  // connection is gone. TypeErrors and the like are ours.
  if (code !== undefined)
    return [`the connection failed (${code})`, 'Check DATABASE_URL and the network between here and there.'];
  return error.constructor === Error ? DROPPED : undefined;
}
