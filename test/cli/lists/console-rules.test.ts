import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { RARELY } from '../../processes/service/service-state.ts';
import { ask, sendForm } from '../../service/with-service.ts';
import { withDatabase } from '../../support/database.ts';
import { begin, KEY, run, until, useBuild } from '../run-command.ts';
import { withLists } from './with-lists.ts';

useBuild();

const PRODUCTS = [
  { id: 1, name: 'Desk', description: 'Oak, for two', supplier: 'Alpha' },
  { id: 2, name: 'Lamp', description: 'Brass', supplier: 'Beta' },
];

test('a field is erased, another is hashed, and the reserve changes in the console while the service runs', async () => {
  await withLists({ products: PRODUCTS }, async source => {
    await withDatabase(async ({ query }, { url: DATABASE_URL }) => {
      const cwd = mkdtempSync(join(tmpdir(), 'sluice-rules-'));
      onTestFinished(() => rmSync(cwd, { recursive: true }));
      const file = join(cwd, '.env');
      const written = { SOURCE_URL: source, DATABASE_URL, SLUICE_HASH_KEY: 'k'.repeat(64) };
      const lines = Object.entries(written).map(([name, value]) => `${name}=${value}\n`);
      writeFileSync(file, lines.join(''), { mode: 0o600 });
      const env = { SOURCE_API_KEY: KEY };
      expect((await run(['sync', 'products'], { cwd, env })).code).toBe(0);
      const service = begin(['start'], { cwd, env: { ...env, ...RARELY } });
      await until(() => service.stderr().includes('sluice is running'));
      const [, url = ''] = /"url":"([^"]+)"/.exec(service.stderr()) ?? [];
      const page = async (path = '/fields/main?list=products') => (await ask(`${url}${path}`)).text;
      const set = (field: string, rule: string, erase = 'yes') =>
        sendForm(url, '/fields/main', { list: 'products', field, rule, erase });
      const reserve = (text: string) => sendForm(url, '/reserve/main', { reserve: text });
      const stored = async () =>
        (await query('select name, description, _extra from warehouse.products order by id')).rows;

      expect(await page()).toContain('All fields of products are stored as they come.');
      const refuses = async (answer: ReturnType<typeof sendForm>, says: string) => {
        const { status, text } = await answer;
        expect([status, text]).toEqual([409, expect.stringContaining(says)]);
      };
      await refuses(set('description', 'never', ''), 'What is stored of products.description would be erased.');
      await refuses(set('id', 'never'), 'by which products is read');
      await refuses(set('supplier', 'hash'), 'which is no column of type text');
      await refuses(reserve('much'), 'The reserve &quot;much&quot; cannot be read.');
      await refuses(reserve('1000'), 'Sluice could send none');
      expect(readFileSync(file, 'utf8')).toBe(lines.join(''));
      expect(service.stderr()).not.toContain('stopping');

      expect((await set('supplier', 'never')).status).toBe(303);
      await until(async () => (await page()).includes('products.supplier is erased, and never stored from now on.'));
      expect(await page()).toContain('Never stored: supplier.');
      expect((await set('description', 'hash')).status).toBe(303);
      await until(async () => (await page()).includes('products.description is stored as hashes now.'));
      const hashed = { description: expect.stringMatching(/^[0-9a-f]{64}$/), _extra: null };
      expect(await stored()).toEqual(PRODUCTS.map(({ name }) => ({ name, ...hashed })));

      expect(await page('/reserve/main')).toContain('nothing is left to others');
      expect((await reserve('30%')).headers.location).toBe('/reserve/main');
      await until(async () => (await page('/reserve/main')).includes('The reserve of main is 30% now.'));
      expect(await page('/reserve/main')).toContain('300 of 1,000 requests a window');
      const rules = ['SOURCE_NEVER=products.supplier\n', 'SOURCE_HASH=products.description\n', 'SOURCE_RESERVE=30%\n'];
      expect(readFileSync(file, 'utf8')).toBe([...lines, ...rules].join(''));

      // What is read from now on keeps to it, and so does a command that is started now.
      await sendForm(url, '/orders', { kind: 'verify', source: 'main', resource: 'products', again: 'yes' });
      expect((await run(['verify', 'products'], { cwd, env })).code).toBe(0);
      expect(await stored()).toEqual(PRODUCTS.map(({ name }) => ({ name, ...hashed })));
      expect((await ask(`${url}/readyz`)).status).toBe(200);
      expect((await query(`select from sluice.runs where state = 'failed'`)).rows).toEqual([]);
      service.child.kill('SIGTERM');
      expect((await service.ended).code).toBe(0);
      expect(service.stderr()).not.toContain('Oak');
    });
  });
});

test('what comes from the environment of the service is changed there', async () => {
  await withLists({ products: PRODUCTS }, async source => {
    await withDatabase(async (_, { url: DATABASE_URL }) => {
      const cwd = mkdtempSync(join(tmpdir(), 'sluice-rules-'));
      onTestFinished(() => rmSync(cwd, { recursive: true }));
      const env = { SOURCE_URL: source, SOURCE_API_KEY: KEY, DATABASE_URL, SOURCE_RESERVE: '10%', ...RARELY };
      const service = begin(['start'], { cwd, env });
      await until(() => service.stderr().includes('sluice is running'));
      const [, url = ''] = /"url":"([^"]+)"/.exec(service.stderr()) ?? [];
      const refused = await sendForm(url, '/reserve/main', { reserve: '30%' });
      expect([refused.status, refused.text]).toEqual([
        409,
        expect.stringContaining('SOURCE_RESERVE comes from the environment of the service. Set SOURCE_RESERVE there'),
      ]);
      service.child.kill('SIGTERM');
      expect((await service.ended).code).toBe(0);
    });
  });
});
