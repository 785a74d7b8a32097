import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { acquireSourceLock } from '../../../src/warehouse/database/source-lock.ts';
import { RARELY } from '../../processes/service/service-state.ts';
import { ask, sendForm } from '../../service/with-service.ts';
import { withDatabase } from '../../support/database.ts';
import { begin, KEY, run, until, useBuild } from '../run-command.ts';
import { withLists } from './with-lists.ts';

useBuild();

const PRODUCTS = [
  { id: 1, name: 'Desk', project: 'Alpha', hours: '1.50' },
  { id: 2, name: 'Lamp', project: `<b>${KEY}</b>`, hours: 'two' },
];

test('a field gets a column in the console of a running service, and loses it again', async () => {
  await withLists({ products: PRODUCTS }, async source => {
    await withDatabase(async (database, { url: DATABASE_URL }) => {
      const cwd = mkdtempSync(join(tmpdir(), 'sluice-fields-'));
      onTestFinished(() => rmSync(cwd, { recursive: true }));
      const settings = { SOURCE_URL: source, SOURCE_API_KEY: KEY, DATABASE_URL, SOURCE_NEVER: 'customers.phone' };
      expect((await run(['sync', 'products'], { cwd, env: settings })).code).toBe(0);
      const service = begin(['start'], { cwd, env: { ...settings, ...RARELY } });
      const urls = () => [...service.stderr().matchAll(/"url":"([^"]+)"/g)].map(([, url = '']) => url);
      const page = async (list = 'products') =>
        (await ask(`${urls().at(-1)}/fields/main?list=${list}`).catch(() => null))?.text ?? '';
      const change = (fields: Record<string, string>) =>
        sendForm(urls().at(-1) ?? '', '/fields/main', { list: 'products', ...fields });
      const stored = async (query: string) => (await database.query(query)).rows;

      await until(() => urls().length === 1);
      expect(await page()).toMatch(/project<\/th>.*2 of 2.*text.*Alpha.*_extra/);
      expect(await page()).toContain('&lt;b&gt;[secret]&lt;/b&gt;');
      expect(await page('customers')).toContain('Never stored: phone.');
      expect((await ask(`${urls()[0]}/fields/main?list=nothing`)).status).toBe(404);
      expect((await ask(`${urls()[0]}/fields/nobody`)).status).toBe(404);

      for (const [field, type, says] of [
        ['name', 'text', 'adds &quot;name&quot;, which products has already'],
        ['project', 'decimal', 'No stored value of project is of type decimal'],
        ['nothing', '', 'No file in lists/ declares products.nothing'],
        ['<i>', 'text', 'cannot be a column'],
      ] as const) {
        const refused = await change({ field, type });
        expect([field, refused.status, refused.text]).toEqual([field, 409, expect.stringContaining(says)]);
      }
      const others = (
        await ask(`${urls()[0]}/fields/main`, { method: 'POST', headers: { origin: 'http://elsewhere' } })
      ).status;
      expect(others).toBe(403);
      expect(urls()).toHaveLength(1);

      const accepted = await change({ field: 'hours', type: 'decimal', description: 'Hours.' });
      expect([accepted.status, accepted.headers.location]).toEqual([303, '/fields/main?list=products']);
      await until(async () => (await page()).includes('products.hours is a column now'));
      expect(
        await stored("select id::int, hours::text, _extra->>'hours' as kept from warehouse.products order by id"),
      ).toEqual([
        { id: 1, hours: '1.5', kept: null },
        { id: 2, hours: null, kept: 'two' },
      ]);
      expect(JSON.parse(readFileSync(join(cwd, 'lists/products.json'), 'utf8')).fields).toEqual({
        hours: { type: 'decimal', description: 'Hours.' },
      });
      // It reads again, with the lists as they are now.
      const runs = "select state from sluice.runs where resource = 'products' and state = 'failed'";
      expect(await stored(runs)).toEqual([]);

      // Where it cannot be changed now, nothing is, and the service goes on.
      const lock = await acquireSourceLock(database, 'main');
      await change({ field: 'project', type: 'text' });
      await until(async () => (await page()).includes('products.project was not changed.'));
      expect(await page()).toContain('Another process is reading main, so nothing was changed');
      await lock?.release();
      await change({ field: 'hours', type: '' });
      await until(async () => (await page()).includes('products.hours is in _extra again'));
      expect(await stored("select _extra->>'hours' as kept from warehouse.products order by id")).toEqual([
        { kept: '1.5' },
        { kept: 'two' },
      ]);
      service.child.kill('SIGTERM');
      expect((await service.ended).code).toBe(0);
      expect(service.stderr()).not.toContain(KEY);
    });
  });
});
