import { existsSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import type { FileChange } from '../../config/changed-file.ts';
import { readListFile } from '../../config/list-files.ts';
import { pathFrom, type Session } from '../session/session.ts';

/** What such a file holds. */
export type Content = Readonly<Record<string, unknown>>;

/** How the file of a list in `lists/`, which may be absent, is changed. Kind `configuration` if it is wrong. */
export function changeListFile(
  { shell, schemaFile }: Pick<Session, 'shell' | 'schemaFile'>,
  name: string,
  change: (content: Content) => Content,
): FileChange & { readonly file: string } {
  const file = `lists/${name}.json`;
  const path = pathFrom({ shell }, file);
  const before = readListFile(path);
  const schema = relative(dirname(path), schemaFile).replaceAll('\\', '/');
  // By the schema, where it lies near, editors complete the file.
  const isNear = existsSync(schemaFile) && !schema.startsWith('../..');
  const { $schema = isNear ? schema : undefined, ...rest } = change(before?.content ?? {});
  return { file, path, before: before?.text ?? null, after: `${JSON.stringify({ $schema, ...rest }, null, 2)}\n` };
}
