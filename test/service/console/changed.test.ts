import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { withService } from '../with-service.ts';

test('the newest changes are listed with what changed, of all lists or of one', async () => {
  const sandbox = await openSandbox({ size: { customers: 10, invoices: 20, transactions: 5 }, rateLimit: 0 });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000 });
    await withService(database, {}, async ({ url }) => {
      const page = async (path: string) => (await fetch(url + path)).text();
      expect(await page('/changed/main')).toContain('Nothing has changed since the lists were first read.');
      await serveOrders(engine, 'sync', { whole: true });
      const [invoice] = [...sandbox.rows('invoices')];
      const id = invoice?.id as number;
      sandbox.update('invoices', id, { status: 'Void', notes: '<script>' } as never);
      await serveOrders(engine, 'sync', { whole: true });
      const all = await page('/changed/main');
      expect(all).toContain(`href="/record/invoices/${id}"`);
      expect(all).toMatch(/notes: .* -&gt; &lt;script&gt;; status: .* -&gt; Void/);
      expect(all).toContain('The newest of main');
      expect(all).not.toMatch(/of 1\b/);
      expect(await page('/changed/main?resource=customers')).toContain('No change of customers is kept (30 days).');
      await database.query('delete from warehouse.change_log');
      await database.query('update sluice.change_numbers set first = last + 1');
      expect(await page('/changed/main')).toContain('No change of main is kept (30 days).');
      expect(await page('/data')).toContain('href="/changed/main"');
      expect((await fetch(`${url}/changed/nobody`)).status).toBe(404);
    });
    await engine.close();
  });
  await sandbox.close();
});
