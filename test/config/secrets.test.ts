import { expect, test } from 'vitest';
import { useFolder } from './use-folder.ts';

const { read } = useFolder();

test('no secret is among the shown settings, and all are among the secrets', () => {
  const config = read({
    SOURCE_URL: 'https://books.example.com/',
    SOURCE_API_KEY: 'k-1',
    DATABASE_URL: 'postgresql://me:p%40ss@db.example/x?sslmode=require',
    SLUICE_TOKEN: 'token-1234567890123',
  });
  expect(config.secrets).toEqual(expect.arrayContaining(['k-1', 'p%40ss', 'p@ss', 'token-1234567890123']));
  const shown = JSON.stringify(config.shown);
  for (const secret of config.secrets) expect(shown).not.toContain(secret);
  expect(config.shown).toContainEqual({
    name: 'DATABASE_URL',
    value: 'postgresql://me:***@db.example/x',
    from: 'environment',
  });
  expect(Object.isFrozen(config)).toBe(true);
});
