import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { withReader } from '../service/with-reader.ts';
import { run, useBuild, withInstallation } from './run-command.ts';

useBuild();

test('a machine with no address but READER_DATABASE_URL reads with it, and never sets up a Postgres of its own', async () => {
  await withInstallation({}, async ({ database, test: given, sync, env: { SOURCE_URL = '', SOURCE_API_KEY = '' } }) => {
    await sync('invoices');
    await withReader(database, given, async (_reader, address) => {
      const cwd = mkdtempSync(join(tmpdir(), 'sluice-reader-'));
      onTestFinished(() => rmSync(cwd, { recursive: true }));
      const env = { READER_DATABASE_URL: address };
      const queried = await run(['sql', '--json', 'select count(*) > 0 as some from invoices'], { env, cwd });
      expect([queried.json(), queried.stderr]).toEqual([
        [{ some: true }],
        expect.stringMatching(/^As of \d+ s ago\.\n$/),
      ]);
      const exported = await run(['export', 'invoices', '--out', 'invoices.csv', '--json'], { env, cwd });
      expect(exported.json()).toMatchObject({ asOf: expect.stringMatching(/Z$/) as string });
      for (const args of [['changes'], ['describe', 'invoices'], ['why', 'invoices', '1'], ['mcp']]) {
        const { code, stderr } = await run(args, { env, cwd });
        expect([args, code === 2, stderr], args[0]).toEqual([args, false, expect.not.stringContaining('Postgres')]);
      }
      const asked = { ...env, SOURCE_URL, SOURCE_API_KEY };
      for (const args of [
        ['sync'],
        ['status'],
        ['agenda'],
        ['sql', '--max-age', '0', 'select 1'],
        ['mcp', '--allow-orders'],
      ]) {
        const refused = await run([...args, '--json'], { env: asked, cwd });
        expect([args, refused.code, refused.stdout + refused.stderr]).toEqual([
          args,
          2,
          expect.stringMatching(/DATABASE_URL is not set.*Set DATABASE_URL to the address of the owner/s),
        ]);
      }
      expect(existsSync(join(cwd, '.sluice'))).toBe(false);
    });
  });
});
