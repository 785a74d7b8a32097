import { existsSync } from 'node:fs';
import { isDeepStrictEqual, parseEnv } from 'node:util';
import { SluiceError } from '../errors.ts';
import type { FileChange } from './changed-file.ts';
import { type Environment, findMalformedLines, readEnvironment, readSettingsFile } from './environment.ts';
import { fieldOf, readSourcesFile, withSources } from './sources-file.ts';

/** Settings of one source that a service changes while it runs. */
export type ChangedSetting = 'SOURCE_NEVER' | 'SOURCE_HASH' | 'SOURCE_RESERVE';

/**
 * How another value of a setting is written: into the entry of its source in the sources file, else into `.env`. Kind `failed` where the
 * environment has it, be it empty, which no program can change for the next start.
 */
export function changeSetting({
  environment,
  directory,
  source,
  setting,
  value,
}: {
  readonly environment: Environment;
  readonly directory: string;
  readonly source: string;
  readonly setting: ChangedSetting;
  readonly value: string;
}): FileChange {
  const { file, texts } = readEnvironment(environment, directory);
  const refuse: (message: string) => never = message => {
    throw new SluiceError('failed', message, { next: `Set ${setting} there, and start the service again.` });
  };
  const sources = readSourcesFile(directory, texts.SOURCES_FILE);
  // One that is empty hides what `.env` says, too.
  if (sources === null && environment[setting] !== undefined)
    refuse(
      `${setting} comes from the environment of the service${environment[setting].trim() === '' ? ', where it is empty' : ''}.`,
    );
  if (sources === null && !existsSync(file)) refuse('The settings come from the environment of the service.');
  const path = sources?.path ?? file;
  const { text: before, refused, code } = readSettingsFile(path);
  if (refused !== null || code !== null) refuse(`${path} cannot be read any more.`);
  const after = sources ? withField(before, source, setting, value) : withVariable(before, setting, value);
  return after === null ? refuse(`${path} could not be changed without changing more.`) : { path, before, after };
}

/** The text of a sources file with another value in the entry of a source. */
function withField(text: string, source: string, setting: ChangedSetting, value: string): string {
  const given = setting === 'SOURCE_RESERVE' ? value : value.split(',');
  const changed = withSources(JSON.parse(text), entries =>
    entries.map(entry => (entry.name === source ? { ...entry, [fieldOf(setting)]: given } : entry)),
  );
  return `${JSON.stringify(changed, null, 2)}\n`;
}

/** The text of a `.env` file with another value of one variable; null if that cannot be had. Kind `usage` for a value that it cannot hold. */
export function withVariable(text: string, name: string, value: string): string | null {
  const lines = text.split('\n');
  // The last line of a name holds.
  const at = lines.findLastIndex(line => /^\s*(?:export\s+)?(\w+)\s*=/.exec(line)?.[1] === name);
  const line = `${name}=${envQuoted(name, value)}`;
  if (at >= 0) lines[at] = lines[at]?.endsWith('\r') ? `${line}\r` : line;
  else if (lines.at(-1) === '') lines.splice(-1, 0, line);
  else lines.push(line, '');
  const changed = lines.join('\n');
  // A line may stand inside of a quoted value, or be the first of one.
  const isOnly = isDeepStrictEqual({ ...parseEnv(changed) }, { ...parseEnv(text), [name]: value });
  return isOnly && findMalformedLines(changed).length <= findMalformedLines(text).length ? changed : null;
}

/** As Node reads it: without quotes, `#` begins a comment; within double quotes, `\n` is a line end. */
function envQuoted(name: string, value: string): string {
  if (/^[\w.,:/@%+~-]*$/.test(value)) return value;
  const quote = ["'", '`', '"'].find(each => !value.includes(each));
  if (quote !== undefined && !(quote === '"' && value.includes('\\'))) return `${quote}${value}${quote}`;
  throw new SluiceError('usage', `${name} holds all three kinds of quotes, which .env cannot hold.`, {
    next: `Set it in the environment: export ${name}=...`,
  });
}
