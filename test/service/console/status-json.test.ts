import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { overviewSchema, sourceSchema } from '../../../src/service/console/status-schema.ts';
import { noteTroubles } from '../../../src/warehouse/ledgers/incidents.ts';
import { createOrder } from '../../../src/warehouse/ledgers/orders.ts';
import { endRun, startRun } from '../../../src/warehouse/ledgers/runs.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { ask, servedSource, withService } from '../with-service.ts';

test('the documents hold what the pages show, exactly as they are described, with the numbers of psql and no secret', async () => {
  const sandbox = await openSandbox({ rateLimit: 0 });
  await withDatabase(async database => {
    const { kysely } = database;
    const engine = await openEngine(database, sandbox);
    await serveOrders(engine, 'sync');
    await createOrder(kysely, { source: 'main', resource: 'invoices', kind: 'backfill', dateFrom: '2025-01-01' });
    const failed = { source: 'main', resource: 'invoices', kind: 'slot', orderId: null, slotAt: null };
    await endRun(kysely, await startRun(kysely, failed), { state: 'failed', reason: 'secret-1', next: 'secret-1' });
    await startRun(kysely, { ...failed, resource: 'customers' });
    await noteTroubles(kysely, 'main', [{ kind: 'fuse', resource: 'invoices', message: 'secret-1', next: 'secret-1' }]);
    const { rows: counted } = await database.query<{ resource: string; rows: number }>(
      `select resource, rows from (values ('customers', (select count(*)::int from warehouse.customers)),
        ('invoices', (select count(*)::int from warehouse.invoices)), ('transactions', (select count(*)::int from warehouse.transactions))) t(resource, rows)`,
    );
    const hide = (text: string) => text.replaceAll('secret-1', '[secret]');
    const served = servedSource(database);
    const sources = [served, { ...served, name: 'other', schema: 'gone' }];
    await withService(database, { hide, sources }, async ({ url }) => {
      const overview = await ask(`${url}/status.json`);
      const document = overviewSchema.strict().encode(JSON.parse(overview.text));
      expect(document.verdict.text).toBe('invoices of main: more would be lost than a day allows');
      expect(document.sources).toMatchObject([
        { name: 'main', state: 'trouble', rows: counted.reduce((sum, { rows }) => sum + rows, 0), openOrders: 1 },
        { name: 'other' },
      ]);
      const detail = await ask(`${url}/status.json?source=main`);
      const source = sourceSchema.strict().encode(JSON.parse(detail.text));
      expect(source.resources).toMatchObject(counted);
      expect(source.orders).toMatchObject([{ kind: 'backfill', from: '2025-01-01', to: null }]);
      expect(source.calendar[0]).toMatchObject({ resource: 'invoices' });
      expect(source.agenda.questions.length).toBeGreaterThan(0);
      expect(source.incidents).toMatchObject([{ message: '[secret]', next: '[secret]' }]);
      for (const { text } of [overview, detail]) expect(text).not.toContain('secret-1');
      expect((await ask(`${url}/status.json?source=nobody`)).status).toBe(404);
      expect(await ask(`${url}/status.json?source=other`)).toMatchObject({ status: 503 });
    });
    await engine.close();
  });
  await sandbox.close();
});

test('the OpenAPI description names every address, and describes the documents by the schemas they are tested with', async () => {
  await withDatabase(async database => {
    await withService(database, {}, async ({ url }) => {
      const document = JSON.parse((await ask(`${url}/openapi.json`)).text) as {
        openapi: string;
        paths: Record<string, object>;
        components: { schemas: Record<string, { required: string[]; properties: object }> };
      };
      expect(document.openapi).toBe('3.1.0');
      for (const [path, { get = null, post = null }] of Object.entries<{ get?: object; post?: object }>(
        document.paths,
      )) {
        // A stream does not end.
        const isStream = path === '/live' || path === '/changes';
        if (get && !isStream) expect([path, (await ask(`${url}${path}`)).status]).toEqual([path, 200]);
        const sent = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
        // It lacks fields.
        if (post) expect([path, (await ask(`${url}${path}`, sent)).status]).toEqual([path, 400]);
      }
      expect(document.components.schemas.Overview?.required).toEqual(Object.keys(overviewSchema.shape));
      expect(document.components.schemas.Source?.required).toEqual(Object.keys(sourceSchema.shape));
    });
  });
});
