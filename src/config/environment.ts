import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { SluiceError } from '../errors.ts';
import { readSettingsFile } from './read-settings-file.ts';
import { SETTING_NAMES, type SettingTexts } from './schema.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The settings as text: from the environment and, for what it does not set, from `.env`. */
export interface RawSettings {
  /** Trimmed; undefined when not set or empty. */
  readonly textOf: (name: string) => string | undefined;
  readonly originOf: (name: string) => 'environment' | '.env' | 'default';
  readonly names: readonly string[];
  readonly problems: readonly string[];
  /** Path of the `.env` file. */
  readonly file: string;
  /** What `.env` sets, if every user of this machine may read it. */
  readonly publicValues: Environment;
}

/** An empty variable in the environment hides that of `.env`. */
export function readEnvironment(environment: Environment, directory: string): RawSettings {
  const file = join(directory, '.env');
  const { values, problems, isPublic } = readEnvFile(file);
  const textOf = (name: string) => (environment[name] ?? values[name])?.trim() || undefined;
  return {
    textOf,
    originOf(name) {
      if (textOf(name) === undefined) return 'default';
      return environment[name] === undefined ? '.env' : 'environment';
    },
    names: [...new Set([...Object.keys(values), ...Object.keys(environment)])],
    problems,
    file,
    publicValues: isPublic ? values : {},
  };
}

export function settingTexts({ textOf }: Pick<RawSettings, 'textOf'>): SettingTexts {
  const texts = SETTING_NAMES.map(name => [name, textOf(name)] as const);
  return Object.fromEntries(texts.filter(([, text]) => text));
}

/**
 * The variables of a `.env` file, none if there is no such file. Each problem names a line, never its content. Throws the kind
 * `configuration` for a file that others control.
 */
function readEnvFile(path: string): { values: Environment; problems: string[]; isPublic: boolean } {
  const unread = { values: {}, isPublic: false };
  try {
    const { text, refused, isPublic } = readSettingsFile(path);
    // What it would have set counts as neither set nor missing, so nothing else is worth a message.
    if (refused !== null) throw wrongSettings([`${refused}.`]);
    return { values: parseEnv(text) as Environment, problems: findMalformedLines(text), isPublic };
  } catch (error) {
    if (error instanceof SluiceError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return { ...unread, problems: [] };
    return { ...unread, problems: [`.env cannot be read (${code}); expected a text file of NAME=value lines.`] };
  }
}

/** Node's parser skips lines that it does not understand, so a misspelt line would go unnoticed. */
function findMalformedLines(text: string): string[] {
  const withoutQuotedValues = text.replace(
    /=[^\S\n]*(["'`])(?:(?!\1)[\s\S])*\1/g,
    quoted => `=${'\n'.repeat(quoted.split('\n').length - 1)}`,
  );
  return withoutQuotedValues.split('\n').flatMap((line, index) => {
    const content = line.trim();
    if (content === '' || content.startsWith('#')) return [];
    if (!/^(export\s+)?[A-Za-z_]\w*\s*=/.test(content))
      return [`.env line ${index + 1} is malformed; expected NAME=value.`];
    return /=\s*["'`]/.test(content) ? [`.env line ${index + 1} has an opening quote without a closing quote.`] : [];
  });
}

export function wrongSettings(problems: readonly string[]): SluiceError {
  const [first = ''] = problems;
  const single = problems.length === 1;
  const message = single
    ? `A setting is wrong: ${first}`
    : [`${problems.length} settings are wrong:`, ...problems.map(problem => `  ${problem}`)].join('\n');
  return new SluiceError('configuration', message, {
    next: `Correct ${single ? 'it' : 'them'} in the environment, in .env or in the sources file. Nothing was started.`,
  });
}
