import { plainHostOf } from '../../warehouse/database/plain-host.ts';

/** One sentence about a database that others on the network may listen to; null for any other. */
export function describeTls(url: string): string | null {
  const host = plainHostOf(url);
  return host === null
    ? null
    : `DATABASE_URL leads to ${host} without requiring TLS, so others on the network may read the password and the data, and change them`;
}

export const TLS_NEXT = 'Add sslmode=verify-full to DATABASE_URL. See docs/security.md, "TLS to the database".';
