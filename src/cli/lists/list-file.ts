import { accessSync, constants, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { readListFile } from '../../config/list-files.ts';
import { codeOf, SluiceError } from '../../errors.ts';
import { pathFrom, type Session } from '../session/session.ts';

/** What such a file holds. */
export type Content = Readonly<Record<string, unknown>>;

/**
 * Changes `lists/<name>.json`, which may be absent, and runs `work` with its name. Where `work` fails before it calls `commit`, the file is put
 * back. Kind `failed` if it cannot be written.
 */
export async function withListFile<T>(
  session: Pick<Session, 'shell' | 'schemaFile'>,
  name: string,
  change: (content: Content) => Content,
  work: (file: string, commit: () => void) => Promise<T>,
): Promise<T> {
  const file = `lists/${name}.json`;
  const path = pathFrom(session, file);
  const before = readListFile(path);
  write(path, textOf(session, path, change(before?.content ?? {})));
  let isCommitted = false;
  try {
    return await work(file, () => {
      isCommitted = true;
    });
  } catch (error) {
    if (isCommitted) throw error;
    if (before === null) rmSync(path);
    else write(path, before.text);
    throw error;
  }
}

/** Kind `failed` if the file of a list could not be written, `configuration` if it is wrong. */
export function refuseUnwritable(session: Pick<Session, 'shell'>, name: string): void {
  const path = pathFrom(session, `lists/${name}.json`);
  readListFile(path);
  const place = [path, dirname(path)].find(existsSync) ?? dirname(dirname(path));
  try {
    accessSync(place, constants.W_OK);
    // The file is written beside the one before.
    if (place === path) accessSync(dirname(path), constants.W_OK);
  } catch (cause) {
    throw cannotWrite(path, cause);
  }
}

/** With the schema by which editors complete it, where that lies near. */
function textOf({ schemaFile }: Pick<Session, 'schemaFile'>, path: string, content: Content): string {
  const schema = relative(dirname(path), schemaFile).replaceAll('\\', '/');
  const isNear = existsSync(schemaFile) && !schema.startsWith('../..');
  const { $schema = isNear ? schema : undefined, ...rest } = content;
  return `${JSON.stringify({ $schema, ...rest }, null, 2)}\n`;
}

function write(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    // Whatever the umask: a file that others may write is not used.
    writeFileSync(`${path}.new`, text, { mode: 0o644 });
    renameSync(`${path}.new`, path);
  } catch (cause) {
    throw cannotWrite(path, cause);
  }
}

const cannotWrite = (path: string, cause: unknown): SluiceError =>
  new SluiceError('failed', `${path} cannot be written (${codeOf(cause)}).`, {
    next: 'Nothing was changed. Change the file where it can be written, and start the program again.',
    cause,
  });
