import pg from 'pg';
import { SluiceError } from '../../errors.ts';

/** What happened and the next step, by SQLSTATE or errno. */
const REASONS: Readonly<Record<string, readonly [what: string, next: string]>> = {
  ECONNREFUSED: ['connection refused', 'Check the host and port in DATABASE_URL, and that the server is running.'],
  ENOTFOUND: ['the host does not exist', 'Check the host in DATABASE_URL.'],
  EAI_AGAIN: ['the host name could not be resolved', 'Check the network, then repeat the command.'],
  ETIMEDOUT: ['no answer', 'Check the network and firewalls on the way, then repeat the command.'],
  EHOSTUNREACH: ['the host is unreachable', 'Check the network, then repeat the command.'],
  ENETUNREACH: ['the host is unreachable', 'Check the network, then repeat the command.'],
  ECONNRESET: ['the connection dropped', 'Repeat the command; it resumes where it stopped.'],
  EPIPE: ['the connection dropped', 'Repeat the command; it resumes where it stopped.'],
  '28P01': ['wrong user or password', 'Correct them in DATABASE_URL.'],
  '28000': ['the server does not admit this user', 'Check the user in DATABASE_URL, and pg_hba.conf on the server.'],
  '3D000': ['the database does not exist', 'Create it, or correct the name in DATABASE_URL.'],
  '42501': [
    'this user lacks a permission',
    'Let it create schemas (GRANT CREATE ON DATABASE .. TO ..) and own those that exist.',
  ],
  '53100': ['the disk is full', 'Free some space on the server, then repeat the command; it resumes where it stopped.'],
  '53200': ['out of memory', 'Give the server more memory, or stop other work on it, then repeat the command.'],
  '53300': ['too many connections', 'Raise max_connections, or close other programs that use the server.'],
  '57P01': [
    'the connection was ended by an administrator',
    'Repeat the command when the server is back; it resumes where it stopped.',
  ],
  '57P02': ['the server crashed and is recovering', 'Repeat the command in a moment; it resumes where it stopped.'],
  '57P03': [
    'the server is starting up or shutting down',
    'Repeat the command in a moment; it resumes where it stopped.',
  ],
  '57P05': ['the connection was idle for too long', 'Repeat the command; it resumes where it stopped.'],
  '57014': [
    'a statement took too long and was cancelled',
    'Look for locks or load on the server, then repeat the command.',
  ],
  '25P03': ['a transaction was idle for too long', 'Repeat the command; it resumes where it stopped.'],
  '25006': ['the server is read-only', 'Point DATABASE_URL at the primary server.'],
};
const DROPPED = REASONS.ECONNRESET as readonly [string, string];

/**
 * Turns what an operator can correct (the server is unreachable, full, refuses us) into an error of kind `database`. Other errors, such
 * as a violated constraint, are bugs of ours and are returned unchanged.
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
  // A host with several addresses gives one error for each.
  if (error instanceof AggregateError) return error.errors[0] instanceof Error ? reasonOf(error.errors[0]) : DROPPED;
  // Class 08 is a connection failure, 53 is lack of a resource, 58 the server's own system.
  if (error instanceof pg.DatabaseError) {
    if (code?.startsWith('08')) return DROPPED;
    if (code?.startsWith('53')) return ['the server lacks a resource', 'See the server log, then repeat the command.'];
    if (code?.startsWith('58') || code?.startsWith('XX')) {
      return [
        `internal error of the server (${code})`,
        'See the server log; the disk or the data files may be damaged.',
      ];
    }
    return undefined;
  }
  // TLS refusals carry Node's codes. The driver's own errors (ended, timed out, not queryable) carry none, and all mean a lost
  // connection. TypeErrors and the like are bugs of ours.
  if (code !== undefined) return [`the connection failed (${code})`, 'Check DATABASE_URL and the network.'];
  return error.constructor === Error ? DROPPED : undefined;
}
