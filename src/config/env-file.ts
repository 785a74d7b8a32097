import { parseEnv } from 'node:util';
import { SluiceError } from '../errors.ts';
import { readSettingsFile } from './read-settings-file.ts';
import { wrongSettings } from './wrong-settings.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface EnvFile {
  readonly values: Environment;
  /** Each names a line, never its content. */
  readonly problems: readonly string[];
  /** Every user of this machine may read it. */
  readonly isPublic: boolean;
}

/** The variables of a `.env` file, none if there is no such file. Throws the kind `configuration` for one that others control. */
export function readEnvFile(path: string): EnvFile {
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
