import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { DOCUMENTS, ROOT, readDocument } from './documents.ts';

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

test.each(DOCUMENTS)('every link in %s leads to a file and a heading that exist', document => {
  const links = [...withoutCode(readDocument(document)).matchAll(/\]\(([^)\s]+)\)/g)].map(match => match[1] as string);
  const broken = links
    .filter(link => !/^[a-z]+:/.test(link))
    .filter(link => {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? document : join(dirname(document), path);
      if (!existsSync(join(ROOT, target))) return true;
      return anchor !== undefined && !anchorsOf(readDocument(target)).includes(anchor);
    });
  expect(broken).toEqual([]);
});

test('every document is linked from one of the three lists of documents', () => {
  const linked = ['README.md', 'docs/README.md', 'docs/decisions/README.md'].flatMap(document =>
    [...readDocument(document).matchAll(/\]\(([^)#\s]+)/g)].map(match => join(dirname(document), match[1] as string)),
  );
  expect(DOCUMENTS.filter(document => document !== 'README.md' && !linked.includes(document))).toEqual([]);
});

test('every test file that a document names exists', () => {
  const files = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' }).map(file =>
    file.replace('.long.test.ts', '.test.ts'),
  );
  const named = DOCUMENTS.flatMap(document =>
    [...readDocument(document).matchAll(/`(?:test\/)?([\w./-]+\.test\.ts)`/g)].map(match => match[1] as string),
  );
  // The last column of the guarantees.
  const held = [...readDocument('docs/architecture.md').matchAll(/^\| \d+ .*\| (.*?) +\|$/gm)].flatMap(
    ([, cell = '']) =>
      [...cell.matchAll(/`([\w/-]+)`/g)].map(match => `${match[1]}.test.ts`).filter(name => !name.startsWith('bench')),
  );
  expect(held.length).toBeGreaterThan(20);
  expect([...named, ...held].filter(name => !files.some(file => file === name || basename(file) === name))).toEqual([]);
});
