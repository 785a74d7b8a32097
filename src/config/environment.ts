import { closeSync, fstatSync, lstatSync, openSync, readFileSync, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { codeOf, SluiceError } from '../errors.ts';
import { shellWord } from '../next-steps.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The texts of the variables that are set, by name, trimmed; those of other programs are among them. */
export type Texts = Readonly<Record<string, string>>;

/** The variables of the environment and, for what it does not set, of `.env`. */
export type Variables = ReturnType<typeof readEnvironment>;

/** An empty variable in the environment hides that of `.env`. */
export function readEnvironment(environment: Environment, directory: string) {
  const file = join(directory, '.env');
  const { values, problems, isPublic } = readEnvFile(file);
  const texts = textsOf({ ...values, ...environment });
  return {
    texts,
    originOf: (name: string): 'environment' | '.env' | 'default' => {
      if (texts[name] === undefined) return 'default';
      return environment[name] === undefined ? '.env' : 'environment';
    },
    problems,
    /** Path of the `.env` file. */
    file,
    /** What `.env` sets, if every user of this machine may read it. */
    publicTexts: isPublic ? textsOf(values) : {},
  };
}

function textsOf(variables: Environment): Texts {
  // On Windows, names that differ in case are one name.
  const nameOf = (name: string) => (process.platform === 'win32' ? name.toUpperCase() : name);
  const trimmed = Object.entries(variables).map(([name, text = '']) => [nameOf(name), text.trim()] as const);
  return Object.fromEntries(trimmed.filter(([, text]) => text !== ''));
}

/**
 * The variables of a `.env` file, none if there is no such file. Each problem names a line, never its content. Throws the kind
 * `configuration` for a file that others control.
 */
function readEnvFile(path: string): { values: Environment; problems: string[]; isPublic: boolean } {
  const { text, refused, code, isPublic } = readSettingsFile(path);
  // What it would have set counts as neither set nor missing, so nothing else is worth a message.
  if (refused !== null) throw wrongSettings([`${refused}.`]);
  if (code === null || code === 'ENOENT')
    return { values: parseEnv(text) as Environment, problems: findMalformedLines(text), isPublic };
  return {
    values: {},
    problems: [`.env cannot be read (${code}); expected a text file of NAME=value lines.`],
    isPublic,
  };
}

/** Node's parser skips lines that it does not understand, so a misspelt line would go unnoticed. */
export function findMalformedLines(text: string): string[] {
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
    next: `Correct ${single ? 'it' : 'them'} in the environment, in .env, in the sources file or in lists/. Nothing was started.`,
  });
}

const OTHERS_WRITE = 0o022;
const OTHERS_READ = 0o004;

/**
 * Reads a file that decides where a key is sent. Whoever can write it can have the key, so it must belong to the user who runs the command
 * or to root, and only its owner may write it. Windows has neither owners nor modes of this kind.
 */
export function readSettingsFile(path: string): SettingsFile {
  let file: number | null = null;
  try {
    const owners = [lstatSync(path), statSync(path)];
    const foreign = owners.find(stats => !isOurs(stats));
    // Not even opened: opening a pipe waits for its writer.
    if (foreign) return { ...UNREAD, refused: describeOwner(path, foreign) };
    file = openSync(path, 'r');
    const stats = fstatSync(file);
    const refused = whyRefused(path, stats);
    const text = refused === null ? readFileSync(file, 'utf8').replace(/^\uFEFF/, '') : '';
    return { text, refused, code: null, isPublic: hasModes(stats) && (stats.mode & OTHERS_READ) !== 0 };
  } catch (error) {
    return { ...UNREAD, code: codeOf(error) };
  } finally {
    if (file !== null) closeSync(file);
  }
}

interface SettingsFile {
  /** Without a byte order mark; empty where it is not used. */
  readonly text: string;
  /** Why nothing of it is used, with the command that changes that. */
  readonly refused: string | null;
  /** Why it cannot be read, such as `ENOENT`. */
  readonly code: string | null;
  /** Every user of this machine may read it. */
  readonly isPublic: boolean;
}

const UNREAD: SettingsFile = { text: '', refused: null, code: null, isPublic: false };

/** The owner of a file's folder, if that is neither the user who runs the command nor root: such a user chose what lies in it. */
export function foreignFolderOwner(path: string): number | null {
  const stats = statSync(dirname(path));
  return isOurs(stats) ? null : stats.uid;
}

/** A file's mode as `chmod` takes it, and the command with which `change` is made. */
export const modeCommand = (change: string, path: string): string => `chmod ${change} ${shellWord(path)}`;

function whyRefused(path: string, stats: Stats): string | null {
  if (!isOurs(stats)) return describeOwner(path, stats);
  if (!hasModes(stats) || (stats.mode & OTHERS_WRITE) === 0) return null;
  const mode = `0${(stats.mode & 0o777).toString(8)}`;
  return `${path} may be written by other users (mode ${mode}), who could send your key elsewhere; to use it: ${modeCommand('go-w', path)}`;
}

const describeOwner = (path: string, { uid }: Stats): string =>
  `${path} belongs to another user (id ${uid}), who could send your key elsewhere; to use it, check what it says, then: sudo chown ${process.geteuid?.()} ${shellWord(path)}`;

function isOurs({ uid }: Stats): boolean {
  const me = process.geteuid?.();
  return me === undefined || uid === me || uid === 0;
}

/** A pipe or a device has none that say who may change its content. */
const hasModes = (stats: Stats): boolean => process.geteuid !== undefined && stats.isFile();
