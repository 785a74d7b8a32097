import { createHash } from 'node:crypto';
import { createServer } from 'node:net';
import { SluiceError } from '../errors.ts';
import { portFile, readIfPresent } from './home-files.ts';
import { replaceFile } from './ownership/replace-file.ts';

export const HOST = '127.0.0.1';

/**
 * The port of the last start if it is free, so that saved connections stay valid; otherwise one below the range of outgoing
 * connections. (get-port would refuse the same port to one process for 15 s, and fall back to any free port.)
 */
export async function choosePort(home: string): Promise<number> {
  const file = portFile(home);
  const kept = Number(await readIfPresent(file));
  const first = 15_432 + (createHash('sha256').update(home).digest().readUInt16BE() % 1000);
  const candidates = [...(kept > 0 ? [kept] : []), ...Array.from({ length: 100 }, (_, i) => first + i)];
  for (const port of candidates) {
    if (!(await isFree(port))) continue;
    if (port !== kept) await replaceFile(file, String(port), undefined);
    return port;
  }
  throw new SluiceError('database', `No port from ${first} to ${first + 99} is free for the embedded Postgres.`, {
    next: `Write the number of a free port to ${file}, or set DATABASE_URL.`,
  });
}

export function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: HOST, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
