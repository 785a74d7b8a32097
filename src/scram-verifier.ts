import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';

const ITERATIONS = 4096;

/** What Postgres stores of a password. Sent in its place, the password itself is in no log of the server. */
export function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256');
  const keyed = (label: string) => createHmac('sha256', salted).update(label).digest();
  const storedKey = createHash('sha256').update(keyed('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${keyed('Server Key').toString('base64')}`;
}
