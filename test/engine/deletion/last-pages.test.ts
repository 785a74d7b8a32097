import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { openProxy } from '../../conformance/tests/proxy.ts';
import { withDatabase } from '../../support/database.ts';
import { oneGrantAtATime, openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

interface Product {
  readonly id: number;
  readonly name: string;
}

/** How the source pages its products. */
interface Paging {
  /** The places of the list, in order; null for one that shows no row. */
  readonly places: () => readonly (Product | null)[];
  readonly count: () => number;
  readonly pages?: (count: number, limit: number) => number;
  /** Rows a page if `wanted` are asked for. */
  readonly size?: (wanted: number) => number;
}

const products = (from: number, to: number): Product[] =>
  Array.from({ length: to - from + 1 }, (_, at) => ({ id: from + at, name: `name ${((from + at) * 37) % 997}` }));

/** `sync` returns the ids that are stored, whether the list is called complete as of this sync, and the requests that it took. */
async function withProducts(
  {
    places,
    count,
    pages = (rows, limit) => Math.max(Math.ceil(rows / limit), 1),
    size = wanted => Math.min(wanted, 100),
  }: Paging,
  run: (sync: () => Promise<{ stored: number[]; complete: boolean; requests: number }>) => Promise<void>,
): Promise<void> {
  const sandbox = await openSandbox({ size: { customers: 1, invoices: 1, transactions: 1 }, rateLimit: 0 });
  let requests = 0;
  const url = await openProxy(sandbox, (answer, { path, query }) => {
    if (path !== '/api/v2/products') return answer;
    requests++;
    const page = Number(query.get('page') ?? 1);
    const limit = size(Number(query.get('limit') ?? 20));
    const data = places().slice((page - 1) * limit, page * limit);
    const meta = { current_page: page, total_pages: pages(count(), limit), total_records: count() };
    return { status: 200, body: { success: true, data: data.filter(row => row !== null), meta } };
  });
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const options = {
      clock,
      lagMs: 60_000,
      wrapBudget: oneGrantAtATime(clock),
      limit: 100_000,
      resources: ['products'] as const,
    };
    const engine = await openEngine(database, { ...sandbox, url }, options);
    await run(async () => {
      await clock.advance(3_600_000);
      requests = 0;
      const begun = new Date(clock.now());
      await serveOrders(engine, 'sync', { whole: true });
      const { rows } = await database.query<{ id: number }>('select id::int from warehouse.products order by id');
      const proofs = await database.query(
        `select from sluice.complete('-infinity', 'infinity') where resource = 'products' and complete and as_of >= $1`,
        [begun],
      );
      return { stored: rows.map(({ id }) => id), complete: proofs.rows.length > 0, requests };
    });
    await engine.close();
  });
  await sandbox.close();
}

const idsOf = (rows: readonly Product[]): number[] => rows.map(({ id }) => id).sort((a, b) => a - b);

test('rows behind a page that the count calls the last are not deleted while deleted rows keep their places in pages', async () => {
  const all = products(1, 203).reverse();
  let live = all;
  const isLive = (row: Product) => live.includes(row);
  const places = () => all.map(row => (isLive(row) ? row : null));
  await withProducts({ places, count: () => live.length }, async sync => {
    for (let times = 0; times < 3; times++)
      expect(await sync()).toMatchObject({ stored: idsOf(all), complete: true, requests: 3 });
    live = all.filter((_, at) => !((at >= 20 && at < 25) || (at >= 120 && at < 128)));
    for (let times = 0; times < 3; times++) expect((await sync()).stored).toEqual(expect.arrayContaining(idsOf(live)));
    expect(await sync()).toMatchObject({ stored: idsOf(live), complete: true });
  });
});

test('a full last page is no end of a list whose count is old, where new rows come at the end', async () => {
  let live = products(1, 200);
  await withProducts({ places: () => live, count: () => 200, size: () => 20 }, async sync => {
    for (let times = 0; times < 2; times++) expect(await sync()).toMatchObject({ stored: idsOf(live), complete: true });
    live = products(1, 203);
    expect(await sync()).toMatchObject({ complete: false });
  });
});

test('rows behind a full last page of a list whose count is old are not deleted', async () => {
  const byName = (rows: Product[]) => [...rows].sort((a, b) => a.name.localeCompare(b.name));
  let live = products(1, 200);
  let count = 200;
  await withProducts({ places: () => byName(live), count: () => count }, async sync => {
    for (let times = 0; times < 2; times++) await sync();
    const { requests } = await sync();
    live = products(1, 203);
    for (let times = 0; times < 2; times++) {
      const { stored, complete } = await sync();
      expect(stored).toEqual(expect.arrayContaining(idsOf(products(1, 200))));
      if (complete) expect(stored).toEqual(idsOf(live));
    }
    count = 203;
    expect(await sync()).toMatchObject({ stored: idsOf(live), complete: true });
    // A right count of full pages: the page behind them is empty.
    live = live.filter(({ id }) => id > 3);
    count = 200;
    for (let times = 0; times < 2; times++) await sync();
    expect(await sync()).toMatchObject({ stored: idsOf(live), complete: true, requests });
  });
});

test('a list whose pages are counted one too many is complete, and its deleted rows leave', async () => {
  let live = products(1, 230).reverse();
  const pages = (rows: number, limit: number) => Math.ceil(rows / limit) + 1;
  await withProducts({ places: () => live, count: () => live.length, pages }, async sync => {
    await sync();
    expect(await sync()).toMatchObject({ stored: idsOf(live), complete: true });
    live = live.filter(({ id }) => ![5, 40, 120, 220].includes(id));
    for (let times = 0; times < 3; times++) await sync();
    expect(await sync()).toMatchObject({ stored: idsOf(live), complete: true, requests: 3 });
  });
});
