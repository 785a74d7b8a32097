import { randomBytes } from 'node:crypto';
import { readIfPresent } from '../home-files.ts';
import { replaceFile } from '../ownership/replace-file.ts';

export async function readPassword(file: string): Promise<string | undefined> {
  return (await readIfPresent(file))?.trim() || undefined;
}

/** The password in `file`, which is created if necessary. */
export async function ensurePassword(file: string): Promise<string> {
  const known = await readPassword(file);
  if (known) return known;
  const password = randomBytes(24).toString('base64url');
  await replaceFile(file, password, undefined);
  return password;
}
