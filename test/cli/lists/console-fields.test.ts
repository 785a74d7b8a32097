import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
  { id: 1, name: 'Desk', project: `<b>${KEY}</b>`, hours: '1.50' },
  { id: 2, name: 'Lamp', project: 'Alpha', hours: 'two' },
];

test('a field gets a column in the console while the service runs, or nothing changes and the page says why', async () => {
  await withLists({ products: PRODUCTS }, async source => {
    await withDatabase(async (database, own) => {
      const cwd = mkdtempSync(join(tmpdir(), 'sluice-fields-'));
      onTestFinished(() => rmSync(cwd, { recursive: true }));
      const settings = {
        SOURCE_URL: source,
        SOURCE_API_KEY: KEY,
        DATABASE_URL: own.url,
        SOURCE_NEVER: 'customers.phone',
      };
      expect((await run(['sync', 'products'], { cwd, env: settings })).code).toBe(0);
      const service = begin(['start'], { cwd, env: { ...settings, ...RARELY } });
      await until(() => service.stderr().includes('sluice is running'));
      const [, url = ''] = /"url":"([^"]+)"/.exec(service.stderr()) ?? [];
      const page = async (list = 'products') => (await ask(`${url}/fields/main?list=${list}`)).text;
      const add = (field: string, type: string, description = '') =>
        sendForm(url, '/fields/main', { list: 'products', field, type, description });
      const stored = async (query: string) => (await database.query(query)).rows;
      const fileOf = (name: string) => join(cwd, `lists/${name}.json`);

      expect(await page()).toMatch(/project<\/th>.*2 of 2.*text.*Alpha.*_extra/);
      expect(await page()).toContain('&lt;b&gt;[secret]&lt;/b&gt;');
      expect(await page('customers')).toContain('Never stored: phone.');
      expect((await ask(`${url}/fields/main?list=nothing`)).status).toBe(404);
      expect((await ask(`${url}/fields/nobody`)).status).toBe(404);

      const refuses = async (says: string, field = 'hours', type = 'decimal') => {
        const { status, text } = await add(field, type);
        expect([status, text]).toEqual([409, expect.stringContaining(says)]);
        expect(text).not.toContain(KEY);
      };
      await refuses('adds &quot;name&quot;, which products has already', 'name', 'text');
      await refuses('No stored value of project is of type decimal', 'project');
      await refuses('Unknown type &quot;&quot;', 'hours', '');
      await refuses('cannot be a column', '<i>');
      const foreign = { method: 'POST', headers: { origin: 'http://elsewhere' } };
      expect((await ask(`${url}/fields/main`, foreign)).status).toBe(403);
      const other = await own.open('sluice wake-ups', 1);
      await other.query('select 1');
      await refuses('Another service uses this database.');
      await other.close();
      mkdirSync(join(cwd, 'lists'));
      writeFileSync(fileOf('products'), '{"fields": ');
      await refuses('products.json');
      rmSync(fileOf('products'));
      // Nothing of this stopped its readings.
      expect(service.stderr()).not.toContain('stopping');

      const lock = await acquireSourceLock(database, 'main', 'test', { waitMs: 60_000 });
      expect(lock).not.toBe(null);
      expect((await add('hours', 'decimal')).status).toBe(303);
      await until(async () => (await page()).includes('products.hours has got no column.'));
      expect(await page()).toContain('Another process is reading main, so nothing was changed');
      expect(existsSync(fileOf('products'))).toBe(false);
      await lock?.release();

      const accepted = await add('hours', 'decimal', 'Hours.');
      expect([accepted.status, accepted.headers.location]).toEqual([303, '/fields/main?list=products']);
      await until(async () => (await page()).includes('products.hours is a column now'));
      const hours = `select id::int, hours::text, _extra->>'hours' as kept from warehouse.products order by id`;
      const filled = [
        { id: 1, hours: '1.5', kept: null },
        { id: 2, hours: null, kept: 'two' },
      ];
      expect(await stored(hours)).toEqual(filled);
      expect(JSON.parse(readFileSync(fileOf('products'), 'utf8')).fields).toEqual({
        hours: { type: 'decimal', description: 'Hours.' },
      });
      expect(await page('customers')).not.toContain('is a column now');
      expect((await ask(`${url}/readyz`)).status).toBe(200);
      // It reads on with the lists as they are now, and a command that is started now does so, too.
      expect((await run(['verify', 'products'], { cwd, env: settings })).code).toBe(0);
      expect(await stored(hours)).toEqual(filled);
      expect(await stored(`select from sluice.runs where state = 'failed'`)).toEqual([]);

      service.child.kill('SIGTERM');
      expect((await service.ended).code).toBe(0);
      expect(service.stderr()).not.toContain(KEY);
    });
  });
});

test('a service of some sources gives no field a column: a list is that of all', async () => {
  await withLists({ products: PRODUCTS }, async source => {
    await withDatabase(async (_, { url: DATABASE_URL }) => {
      const cwd = mkdtempSync(join(tmpdir(), 'sluice-fields-'));
      onTestFinished(() => rmSync(cwd, { recursive: true }));
      const env = { SOURCE_URL: source, SOURCE_API_KEY: KEY, DATABASE_URL, ...RARELY };
      const service = begin(['start', '--source', 'main'], { cwd, env });
      await until(() => service.stderr().includes('sluice is running'));
      const [, url = ''] = /"url":"([^"]+)"/.exec(service.stderr()) ?? [];
      const refused = await sendForm(url, '/fields/main', { list: 'products', field: 'hours', type: 'decimal' });
      expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('only some of the sources')]);
      service.child.kill('SIGTERM');
      expect((await service.ended).code).toBe(0);
    });
  });
});
