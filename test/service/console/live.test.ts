import { expect, test } from 'vitest';
import { noteTroubles } from '../../../src/warehouse/ledgers/incidents.ts';
import { createOrder, setOrderState } from '../../../src/warehouse/ledgers/orders.ts';
import { readStateMark } from '../../../src/warehouse/reports/state-queries.ts';
import { withDatabase } from '../../support/database.ts';
import { autoClock } from '../../support/manual-clock.ts';
import { withService } from '../with-service.ts';

test('the mark moves with every run, order and incident that begins, ends or waits, and with nothing else', async () => {
  await withDatabase(async database => {
    const { kysely } = database;
    const seen = [await readStateMark(kysely)];
    const moves = async (work: () => Promise<unknown>) => {
      await work();
      const mark = await readStateMark(kysely);
      expect(seen).not.toContain(mark);
      seen.push(mark);
    };
    const order = { id: '' };
    await moves(async () => {
      order.id = (await createOrder(kysely, { source: 'main', resource: 'invoices', kind: 'backfill' })).id;
    });
    await moves(() => setOrderState(kysely, order.id, ['waiting'], 'paused'));
    await moves(() => noteTroubles(kysely, 'main', [{ kind: 'failed', resource: null, message: 'm', next: null }]));
    await moves(() =>
      database.query(
        `insert into sluice.runs (source, resource, kind, state, started_at) values ('main', 'invoices', 'slot', 'running', sluice.now())`,
      ),
    );
    await moves(() => database.query(`update sluice.runs set state = 'waiting', waiting_until = sluice.now()`));
    const before = await readStateMark(kysely);
    await database.query(`update sluice.runs set requests = requests + 1`);
    expect(await readStateMark(kysely)).toBe(before);
  });
});

test('an open page is told of changes, all that are open by one look, and none is held back when the service ends', async () => {
  await withDatabase(async database => {
    const bodies: ReadableStreamDefaultReader<Uint8Array>[] = [];
    await withService(database, {}, async ({ url }) => {
      for (let page = 0; page < 3; page++) {
        const response = await fetch(`${url}/live`);
        expect(response.headers.get('content-type')).toBe('text/event-stream');
        bodies.push((response.body as ReadableStream<Uint8Array>).getReader());
      }
      await noteTroubles(database.kysely, 'main', [{ kind: 'failed', resource: null, message: 'm', next: null }]);
      for (const body of bodies) {
        let text = '';
        while (!text.includes('event: change')) text += new TextDecoder().decode((await body.read()).value);
        expect(text).toMatch(/^event: begin\n/);
      }
    });
    for (const body of bodies) {
      let isDone = false;
      while (!isDone) isDone = (await body.read()).done;
    }
  });
});

test('open pages are told again although the clock of the machine is put back', async () => {
  await withDatabase(async database => {
    const clock = autoClock();
    await withService(database, { clock: { ...clock, now: () => -clock.now() } }, async ({ url }) => {
      const page = ((await fetch(`${url}/live`)).body as ReadableStream<Uint8Array>).getReader();
      let text = '';
      while (!text.includes('event: change')) text += new TextDecoder().decode((await page.read()).value);
      await page.cancel();
    });
  });
}, 20_000);

test('at most a hundred pages are told; the next is refused', async () => {
  await withDatabase(async database => {
    await withService(database, {}, async ({ url }) => {
      const open = await Promise.all(Array.from({ length: 100 }, () => fetch(`${url}/live`)));
      expect(open.every(({ status }) => status === 200)).toBe(true);
      const refused = await fetch(`${url}/live`);
      expect([refused.status, await refused.text()]).toEqual([503, 'Too many pages are open.\n']);
      await open[0]?.body?.cancel();
      await expect.poll(async () => (await fetch(`${url}/live`)).status, { timeout: 20_000 }).toBe(200);
    });
  });
});
