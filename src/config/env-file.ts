import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The variables of a `.env` file, none if there is no such file. A problem names a line, never its content. */
export function readEnvFile(path: string): { values: Environment; problems: readonly string[] } {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return { values: {}, problems: [] };
    return { values: {}, problems: [`.env cannot be read (${code}); expected a text file of NAME=value lines.`] };
  }
  return { values: parseEnv(text) as Environment, problems: findMalformedLines(text) };
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
