import pg from 'pg';
import { isLoopback } from '../../loopback.ts';

/** Modes in which a client may go on without TLS. The driver's present version insists on it in some; its next will not. */
const OPTIONAL_TLS: readonly (string | null)[] = ['disable', 'allow', 'prefer'];

/**
 * The other machine that a Postgres URL leads to without requiring TLS; null with TLS, for a Unix socket and for this machine. A name
 * that only a container network knows counts as another machine, because the network may span several.
 */
export function plainHostOf(url: string): string | null {
  // Asks the driver, which also knows parameters of the URL, such as `host` and `sslrootcert`, and variables such as PGSSLMODE.
  const { host, ssl } = new pg.Client({ connectionString: url });
  if (host.startsWith('/') || isLoopback(host)) return null;
  return ssl && !OPTIONAL_TLS.includes(new URL(url).searchParams.get('sslmode')) ? null : host;
}
