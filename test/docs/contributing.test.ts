import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

test('what CONTRIBUTING.md shows of adding a resource is what was added', () => {
  const diffs = [
    ...read('CONTRIBUTING.md').matchAll(/```diff\n--- \/dev\/null\n\+\+\+ b\/(\S+)\n@@.*\n([\s\S]*?)```/g),
  ];
  expect(diffs.map(([, path]) => path?.split('/')[0])).toEqual(['jobs']);
  for (const [, path = '', added = ''] of diffs) expect(added.replaceAll(/^\+/gm, '')).toBe(read(path));
});
