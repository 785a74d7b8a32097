import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export const readDocument = (document: string): string => readFileSync(join(ROOT, document), 'utf8');

/** Every document for people, by its path from the root of the repository. */
export const DOCUMENTS: readonly string[] = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.md'))
    .map(name => join('docs', name))
    .sort(),
];

export interface Block {
  /** The word after the three backticks; empty if there is none. */
  readonly language: string;
  /** The line of the document on which the code begins, from 1. */
  readonly line: number;
  readonly code: string;
}

export const blocksOf = (document: string): Block[] => {
  const text = readDocument(document);
  return [...text.matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)].map(match => ({
    language: match[2] as string,
    line: text.slice(0, match.index).split('\n').length + 1,
    code: (match[3] as string).replaceAll(new RegExp(`^${match[1]}`, 'gm'), ''),
  }));
};

/** The blocks that a reader would run: commands, and statements of SQL that ask. */
export const runnable = (blocks: readonly Block[]): Block[] =>
  blocks.filter(({ language, code }) => language === 'sh' || (language === 'sql' && /^(select|with)\b/.test(code)));
