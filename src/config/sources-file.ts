import { basename, resolve } from 'node:path';
import { z } from 'zod';
import { createSource, type SourceConfig } from './config.ts';
import { foreignFolderOwner, readSettingsFile, type Texts, type Variables } from './environment.ts';
import {
  isRecord,
  plainText,
  RESOURCE_FIELD_VALUES,
  type ResourceSettings,
  readResourceFields,
} from './resource-settings.ts';
import { API_KEY, SETTING_NAMES, SOURCE_SHAPE } from './schema.ts';
import { describeRejected } from './secrets.ts';

interface SourcesFile {
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
  const { text, refused, code } = readSettingsFile(path);
  if (refused !== null) return { name, path, entries: [], problems: [`${refused}.`] };
  if (code === 'ENOENT' && named === undefined) return null;
  if (code !== null) return unusable(`cannot be read (${code}); expected a JSON file with a list of sources.`);
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, which may contain a key.
    return unusable(`is not valid JSON; expected a list of sources such as ${EXAMPLE}.`);
  }
  const list = sourcesIn(content);
  if (!Array.isArray(list) || list.length === 0 || !list.every(isRecord))
    return unusable(
      `does not contain a list of sources; expected ${EXAMPLE}, or an object with "$schema" and "sources".`,
    );
  const entries = list.map((fields, index) => ({
    fields,
    place: `${file}, source ${index + 1}${isSourceName(fields.name) ? ` (${fields.name})` : ''}:`,
  }));
  return { name, path, entries, problems: [] };
}

/** The list itself or, so that `$schema` can stand beside it, an object that has it as `sources`. */
function sourcesIn(content: unknown): unknown {
  if (!isRecord(content)) return content;
  const { $schema: _, sources, ...others } = content;
  return Object.keys(others).length === 0 ? sources : null;
}

/** The content of a sources file with other entries. */
export const withSources = (
  content: unknown,
  change: (entries: readonly SourceEntry['fields'][]) => unknown,
): unknown => {
  const changed = change(sourcesIn(content) as readonly SourceEntry['fields'][]);
  return isRecord(content) ? { ...content, sources: changed } : changed;
};

export const SOURCE_NAME = /^[a-z][a-z0-9_-]{0,39}$/;

const isSourceName = (value: unknown): value is string => typeof value === 'string' && SOURCE_NAME.test(value);

/** Sources of the same name would share cursors, and of the same schema, tables. */
export function findDuplicates(sources: readonly SourceConfig[], file: string): string[] {
  return (['name', 'schema'] as const).flatMap(field => {
    const values = sources.map(source => source[field]);
    const repeated = new Set(values.filter((value, index) => values.indexOf(value) !== index));
    return [...repeated].map(value => `${file}: two sources have the ${field} "${value}"; give each its own.`);
  });
}

/**
 * Keys of the environment that a file in somebody else's folder would send to an address of its choice. The file belongs to the user or to
 * root, but whoever owns the folder chose that it lies there. See docs/decisions/0011.
 */
export function findRedirectedKeys({ file, originOf }: Variables, sources: SourcesFile | null): string[] {
  const keys = sources
    ? sources.entries.map(({ fields }) => fields.api_key_from).filter(name => typeof name === 'string')
    : ['SOURCE_API_KEY'];
  const key = keys.find(name => originOf(name) === 'environment');
  const address = sources?.path ?? (originOf('SOURCE_URL') === '.env' ? file : null);
  if (key === undefined || address === null) return [];
  const owner = foreignFolderOwner(address);
  if (owner === null) return [];
  const both = sources ? `${key} in a .env file beside it` : 'SOURCE_URL in the environment too';
  return [
    `${address} lies in a folder of another user (id ${owner}) and would send ${key}, which the environment sets, to an address that it names; to use it, set ${both}, or move it to a folder of your own.`,
  ];
}

const SOURCE_SETTINGS = Object.keys(SOURCE_SHAPE) as (keyof typeof SOURCE_SHAPE)[];
/** The field of an entry that stands for a setting: `rate_limit`, `schema`, `schedule_timezone`, `most_sweeps`. */
export const fieldOf = (setting: string): string => setting.replace(/^(SOURCE|WAREHOUSE|FRESHNESS)_/, '').toLowerCase();
const KNOWN_FIELDS = ['name', 'api_key_from', ...Object.keys(RESOURCE_FIELD_VALUES), ...SOURCE_SETTINGS.map(fieldOf)];

type Fields = SourceEntry['fields'];
type Report = (problem: string) => void;

/** Checks one entry of the sources file. `source` is null when the entry has problems. */
export function readSourceEntry(
  { fields, place }: SourceEntry,
  context: {
    /** The environment's, which apply to the fields that the entry leaves out. */
    texts: Texts;
    resourceDefaults: ResourceSettings;
    needsKey: (source: unknown) => boolean;
    resources: readonly string[];
    file: string;
  },
): { source: SourceConfig | null; problems: readonly string[] } {
  const { texts, resourceDefaults, resources } = context;
  const problems: string[] = [];
  const report: Report = problem => void problems.push(`${place} ${problem}`);
  reportUnknownFields(fields, report);
  const { name } = fields;
  if (!isSourceName(name)) {
    const found = name === undefined ? 'is missing' : `is "${plainText(name)}"`;
    report(`name ${found}; expected a letter, then lower-case letters, digits, _ and -, such as vienna.`);
  }
  if (fields.url === undefined) report('url is missing; expected a URL such as https://books.example.com.');
  const settings = readSettings(fields, texts, report);
  const apiKey = readKey(fields.api_key_from, texts, context.needsKey(name), report);
  const perResource = readResourceFields(fields, resources, resourceDefaults);
  perResource.problems.forEach(report);
  if (!settings || !isSourceName(name) || problems.length > 0) return { source: null, problems };
  const source = createSource(settings, { name, apiKey, addressFile: context.file, perResource: perResource.settings });
  return { source, problems };
}

function reportUnknownFields(fields: Fields, report: Report): void {
  for (const field of Object.keys(fields)) {
    if (KNOWN_FIELDS.includes(field)) continue;
    const next = /key/i.test(field)
      ? 'put the key into an environment variable and name that variable in api_key_from'
      : `expected one of ${KNOWN_FIELDS.join(', ')}`;
    report(`unknown field "${field}"; ${next}.`);
  }
}

/** The fields as settings; null when one is wrong, here or in the environment, which reports its own. */
function readSettings(fields: Fields, defaults: Texts, report: Report) {
  const { SOURCE_URL: _, ...inherited } = defaults;
  const texts: Record<string, string> = {
    ...inherited,
    WAREHOUSE_SCHEMA: fields.name === 'main' ? 'warehouse' : String(fields.name).replaceAll('-', '_'),
  };
  for (const setting of SOURCE_SETTINGS) {
    const value = fields[fieldOf(setting)];
    // A list of names as an environment variable holds it.
    const isList = Array.isArray(value) && value.every(name => typeof name === 'string');
    if (value !== undefined) texts[setting] = plainText(isList ? value.join() : value).trim();
  }
  const parsed = z.object(SOURCE_SHAPE).safeParse(texts);
  for (const { path, message } of parsed.error?.issues ?? []) {
    const setting = path[0] as (typeof SOURCE_SETTINGS)[number];
    const field = fieldOf(setting);
    const isOwn = fields[field] !== undefined || (field === 'schema' && isSourceName(fields.name));
    if (isOwn) report(`${field} ${describeRejected(setting, texts[setting] ?? '')}; expected ${message}.`);
  }
  return parsed.data ?? null;
}

/** A file that came from somebody else must not be able to send just any variable to its address, such as a password. */
function whyNoKey(variable: string): string | null {
  if (variable !== 'SOURCE_API_KEY' && SETTING_NAMES.some(setting => setting === variable))
    return `the setting ${variable}; expected a variable of its own`;
  if (/_(?:KEY|TOKEN)$|^(?:SOURCE|SLUICE)_/.test(variable)) return null;
  return `${variable}; expected a variable whose name ends with _KEY or _TOKEN or starts with SOURCE_ or SLUICE_`;
}

/** The key in the named variable. What the field itself holds is not shown: it may be the key. */
function readKey(variable: unknown, texts: Texts, needed: boolean, report: Report): string | undefined {
  if (typeof variable !== 'string' || !/^[A-Z][A-Z0-9_]*$/.test(variable)) {
    const found = variable === undefined ? 'is missing' : 'is not a variable name (value hidden)';
    report(`api_key_from ${found}; expected the environment variable that holds the key, such as VIENNA_KEY.`);
    return undefined;
  }
  const refused = whyNoKey(variable);
  if (refused !== null) {
    report(`api_key_from names ${refused}, such as VIENNA_KEY.`);
    return undefined;
  }
  const key = texts[variable];
  if (key === undefined && needed) report(`${variable}, named by api_key_from, is not set; set it to the API key.`);
  if (!API_KEY.optional().safeParse(key).success)
    report(`${variable}, named by api_key_from, is invalid (value hidden); expected the API key without spaces.`);
  return key;
}
