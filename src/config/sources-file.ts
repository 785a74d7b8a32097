import { basename, resolve } from 'node:path';
import type { SourceConfig } from './config.ts';
import { readSettingsFile } from './read-settings-file.ts';

export interface SourcesFile {
  /** Its name, as the origin of settings. */
  readonly name: string;
  readonly path: string;
  readonly entries: readonly SourceEntry[];
  readonly problems: readonly string[];
}

export interface SourceEntry {
  readonly fields: Readonly<Record<string, unknown>>;
  /** Begins every message about it, e.g. `sources.json, source 1 (vienna):`. */
  readonly place: string;
}

const EXAMPLE = '[{"name": "main", "url": "https://...", ...}]';

/** Reads `sources.json`, or the file that SOURCES_FILE names. Null when there is no sources.json. */
export function readSourcesFile(directory: string, named: string | undefined): SourcesFile | null {
  const file = named ?? 'sources.json';
  const name = basename(file);
  const path = resolve(directory, file);
  const unusable = (problem: string): SourcesFile => ({ name, path, entries: [], problems: [`${file} ${problem}`] });
  let text: string;
  try {
    const read = readSettingsFile(path);
    if (read.refused !== null) return { name, path, entries: [], problems: [`${read.refused}.`] };
    text = read.text;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && named === undefined) return null;
    return unusable(`cannot be read (${code}); expected a JSON file with a list of sources.`);
  }
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, which may contain a key.
    return unusable(`is not valid JSON; expected a list of sources such as ${EXAMPLE}.`);
  }
  if (!Array.isArray(list) || list.length === 0 || !list.every(isRecord))
    return unusable(`does not contain a list of sources; expected ${EXAMPLE}.`);
  const entries = list.map((fields, index) => ({
    fields,
    place: `${file}, source ${index + 1}${isSourceName(fields.name) ? ` (${fields.name})` : ''}:`,
  }));
  return { name, path, entries, problems: [] };
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isSourceName = (value: unknown): value is string =>
  typeof value === 'string' && /^[a-z][a-z0-9_-]{0,39}$/.test(value);

/** Sources of the same name would share cursors, and of the same schema, tables. */
export function findDuplicates(sources: readonly SourceConfig[], file: string): string[] {
  return (['name', 'schema'] as const).flatMap(field => {
    const values = sources.map(source => source[field]);
    const repeated = new Set(values.filter((value, index) => values.indexOf(value) !== index));
    return [...repeated].map(value => `${file}: two sources have the ${field} "${value}"; give each its own.`);
  });
}
