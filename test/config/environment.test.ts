import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useFolder } from './use-folder.ts';

const { folder, read, problems } = useFolder();

test('.env supplies settings that the environment does not set', () => {
  writeFileSync(join(folder.path, '.env'), '# mine\nexport SOURCE_RATE_LIMIT=50\nSLUICE_PORT="9000"\nOTHER=\'a\nb\'\n');
  const config = read({ SLUICE_PORT: '7000' });
  expect(config.port).toBe(7000);
  expect(config.shown).toContainEqual({ name: 'SOURCE_RATE_LIMIT', value: '50', from: '.env' });
  expect(config.shown).toContainEqual({ name: 'SLUICE_PORT', value: '7000', from: 'environment' });
});

test('a malformed line of .env is reported by its number, without its content', () => {
  writeFileSync(join(folder.path, '.env'), 'SLUICE_PORT=9000\nSOURCE_API_KEY secret-7\nSLUICE_TOKEN="secret-8\n');
  const message = problems({});
  expect(message).toContain('.env line 2 is malformed; expected NAME=value.');
  expect(message).toContain('.env line 3 has an opening quote without a closing quote.');
  expect(message).not.toContain('secret');
});
