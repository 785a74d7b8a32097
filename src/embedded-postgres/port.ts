import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { SluiceError } from '../errors.ts';
import { readIfPresent } from './files.ts';

export const HOST = '127.0.0.1';

/** The port of last time while it is free, so that people's connections stay valid; below the range of outgoing connections. */
export async function choosePort(home: string): Promise<number> {
  const file = join(home, 'port');
  const kept = Number(await readIfPresent(file));
  const first = 15_432 + (createHash('sha256').update(home).digest().readUInt16BE() % 1000);
  const candidates = [...(kept > 0 ? [kept] : []), ...Array.from({ length: 100 }, (_, i) => first + i)];
  for (const port of candidates) {
    if (!(await isFree(port))) continue;
    if (port !== kept) await writeFile(file, String(port));
    return port;
  }
  throw new SluiceError('database', `No free port for the embedded Postgres between ${first} and ${first + 99}.`, {
    next: `Write a free one to ${file}, or set DATABASE_URL.`,
  });
}

export function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: HOST, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
