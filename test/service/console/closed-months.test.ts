import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { DAY } from '../../../src/clock.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { byText, lookOnce } from '../incidents/with-monitor.ts';
import { ask, sendForm, servedSource, silent, withService } from '../with-service.ts';

test('a month is closed on its page, and what changes in it is shown there and as an incident, until it is accepted', async () => {
  const sandbox = await openSandbox({ size: 'small', rateLimit: 0 });
  await withDatabase(async database => {
    await withService(database, {}, async ({ url }) => {
      const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['invoices', 'transactions'] });
      const month = new Date(sandbox.now() - 40 * DAY).toISOString().slice(0, 7);
      const look = async () => {
        const options = { database, sources: [], alertUrl: null, freshnessLimitMs: DAY };
        await lookOnce({ ...options, hide: String, clock: engine.clock, log: silent }, servedSource(database));
        const { rows } = await database.query<{ message: string }>(
          `select message from sluice.incidents where kind = 'restated' and ended_at is null`,
        );
        return rows.map(({ message }) => message).sort(byText);
      };
      const early = await sendForm(url, '/months/main', { month });
      expect([early.status, early.text]).toEqual([409, expect.stringContaining(`${month} cannot be closed yet`)]);
      await serveOrders(engine, 'sync');
      expect((await sendForm(url, '/months/main', { month: 'soon' })).text).toContain('is not a month that is over');
      expect((await sendForm(url, '/months/main', { month })).status).toBe(303);
      const closed = await ask(`${url}/months/main`);
      expect([closed.status, closed.text]).toEqual([200, expect.stringContaining('Nothing has changed since.')]);
      expect((await ask(`${url}/data`)).text).toContain('href="/months/main"');
      expect(await look()).toEqual([]);

      const invoice = [...sandbox.rows('invoices')].find(({ date }) => date?.startsWith(month));
      sandbox.update('invoices', invoice?.id ?? 0, { notes: '<b>Corrected</b>' });
      await serveOrders(engine, 'sync');
      const changed = await ask(`${url}/months/main`);
      expect(changed.text).toContain(`/record/invoices/${invoice?.id}`);
      expect(changed.text).toContain('&lt;b&gt;Corrected');
      expect(await look()).toEqual([expect.stringContaining(`${month}: 1 changed`)]);
      // Only the other button accepts them.
      await sendForm(url, '/months/main', { month });
      expect(await look()).toHaveLength(1);
      await sendForm(url, '/months/main', { month, again: 'yes' });
      expect(await look()).toEqual([]);
      await engine.close();
    });
  });
  await sandbox.close();
});
