import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathFrom, type Session } from '../session/session.ts';

type Content = Readonly<Record<string, unknown>>;

/** Writes `lists/<name>.json` whole, with the schema by which editors complete it where that lies near. Returns its name. */
export function writeListFile(session: Pick<Session, 'shell' | 'schemaFile'>, name: string, content: Content): string {
  const file = `lists/${name}.json`;
  const path = pathFrom(session, file);
  const schema = relative(dirname(path), session.schemaFile).replaceAll('\\', '/');
  const isNear = existsSync(session.schemaFile) && !schema.startsWith('../..');
  const { $schema = isNear ? schema : undefined, ...rest } = content;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, `${JSON.stringify({ $schema, ...rest }, null, 2)}\n`);
  renameSync(`${path}.new`, path);
  return file;
}

/** Writes the file, runs `work`, and puts the file back as it was if that fails. */
export async function withListFile<T>(
  session: Pick<Session, 'shell' | 'schemaFile'>,
  name: string,
  change: (content: Content) => Content,
  work: (file: string) => Promise<T>,
): Promise<T> {
  const path = pathFrom(session, join('lists', `${name}.json`));
  const before = existsSync(path) ? readFileSync(path, 'utf8') : null;
  const file = writeListFile(session, name, change(before === null ? {} : (JSON.parse(before) as Content)));
  try {
    return await work(file);
  } catch (error) {
    if (before === null) rmSync(path);
    else writeFileSync(path, before);
    throw error;
  }
}
