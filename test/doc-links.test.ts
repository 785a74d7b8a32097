import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const documents = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.md'))
    .map(name => join('docs', name)),
];
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const withoutCode = (text: string) => text.replaceAll(/```[\s\S]*?```/g, '');

/** The anchors that GitHub gives the headings of a document. */
function anchorsOf(text: string): string[] {
  return [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map(match =>
    (match[1] as string)
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test.each(documents)('every link in %s leads to a file and a heading that exist', document => {
  const links = [...withoutCode(read(document)).matchAll(/\]\(([^)\s]+)\)/g)].map(match => match[1] as string);
  const broken = links
    .filter(link => !/^[a-z]+:/.test(link))
    .filter(link => {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? document : join(dirname(document), path);
      if (!existsSync(join(root, target))) return true;
      return anchor !== undefined && !anchorsOf(read(target)).includes(anchor);
    });
  expect(broken).toEqual([]);
});

test('every document is linked from the README or from the list of decisions', () => {
  const linked = ['README.md', join('docs', 'decisions', 'README.md')].flatMap(document =>
    [...read(document).matchAll(/\]\(([^)#\s]+)/g)].map(match => join(dirname(document), match[1] as string)),
  );
  expect(documents.filter(document => document !== 'README.md' && !linked.includes(document))).toEqual([]);
});

test('every test file that a document names exists', () => {
  const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' });
  const named = documents.flatMap(document =>
    [...read(document).matchAll(/`(?:test\/)?([\w./-]+\.test\.ts)`/g)].map(match => match[1] as string),
  );
  // The last column of the guarantees.
  const held = [...read('docs/architecture.md').matchAll(/^\| \d+ .*\| (.*?) +\|$/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([\w/-]+)`/g)].map(match => `${match[1]}.test.ts`).filter(name => !name.startsWith('bench')),
  );
  expect(held.length).toBeGreaterThan(20);
  expect([...named, ...held].filter(name => !files.some(file => file === name || basename(file) === name))).toEqual([]);
});
