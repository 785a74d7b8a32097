import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { openProxy } from '../../conformance/tests/proxy.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import { oneGrantAtATime, openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

interface Product {
  readonly id: number;
  readonly name: string;
  readonly price: number;
  readonly description: string;
  readonly type: string;
  readonly tax_rate: number;
}

/** How the source pages its products. */
interface Paging {
  /** The places of the list, in order; null for one that shows no row. */
  readonly places: () => readonly (Product | null)[];
  /** Null: it gives no count. */
  readonly count: () => number | null;
  readonly pages?: (count: number, limit: number) => number;
  /** Rows a page if `wanted` are asked for. */
  readonly size?: (wanted: number) => number;
  /** Pages behind the last are refused. */
  readonly refusesBehind?: boolean;
  /** More rows a page are refused. */
  readonly mostAccepted?: number;
  /** Pages that are asked for with more rows show none. */
  readonly mostShown?: number;
  /** The number of the first page. Default: 1. */
  readonly firstPage?: number;
  /** They show the first page. */
  readonly wrapsBehind?: boolean;
  /** They show the last page once more. */
  readonly repeatsLast?: boolean;
  /** The status without page and limit. Default: as for page 1. */
  readonly bare?: number;
  /** What the settings say. Default: `auto`. */
  readonly rowsAPage?: number;
  /** Called once a page has been shown. */
  readonly shown?: (page: number) => void;
}

/** No field rises or falls with the id. */
function product(id: number, number = id): Product {
  const value = (number * 389) % 997;
  return {
    id,
    name: `name ${value}`,
    price: value,
    description: `text ${value}`,
    type: value % 3 === 0 ? 'service' : 'product',
    tax_rate: value,
  };
}

const products = (from: number, to: number): Product[] =>
  Array.from({ length: to - from + 1 }, (_, at) => product(from + at));

/** `sync` returns the ids that are stored, whether the list is called complete as of this sync, the requests that it took, and how it ended. */
async function withProducts(
  {
    places,
    count,
    pages = (rows, limit) => Math.max(Math.ceil(rows / limit), 1),
    size = wanted => Math.min(wanted, 100),
    refusesBehind = false,
    wrapsBehind = false,
    repeatsLast = false,
    mostAccepted = Number.POSITIVE_INFINITY,
    mostShown = Number.POSITIVE_INFINITY,
    firstPage = 1,
    bare,
    rowsAPage,
    shown = () => undefined,
  }: Paging,
  run: (
    sync: () => Promise<{ stored: number[]; complete: boolean; requests: number; state: string | undefined }>,
  ) => Promise<void>,
): Promise<void> {
  const sandbox = await openSandbox({ size: { customers: 1, invoices: 1, transactions: 1 }, rateLimit: 0 });
  let requests = 0;
  const url = await openProxy(sandbox, (answer, { path, query }) => {
    if (path !== '/api/v2/products') return answer;
    requests++;
    if (bare !== undefined && !query.has('page')) return { status: bare, body: { success: false, message: 'No page' } };
    const page = Number(query.get('page') ?? firstPage) - firstPage + 1;
    const wanted = Number(query.get('limit') ?? 25);
    if (wanted > mostAccepted) return { status: 422, body: { success: false, message: 'Too many' } };
    const limit = size(wanted);
    const behind = wanted > mostShown ? [] : places().slice((page - 1) * limit, page * limit);
    const last = (Math.ceil(places().length / limit) - 1) * limit;
    const again = wrapsBehind ? 0 : repeatsLast ? Math.max(last, 0) : null;
    const data = again !== null && behind.length === 0 ? places().slice(again, again + limit) : behind;
    const total_records = count();
    shown(page);
    if (refusesBehind && page > 1 && data.length === 0)
      return { status: 422, body: { success: false, message: 'No such page' } };
    const total_pages = total_records === null ? 0 : pages(total_records, limit);
    const meta = total_records === null ? undefined : { current_page: page, total_pages, total_records };
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
      ...(rowsAPage !== undefined && { pageSize: rowsAPage }),
    };
    const engine = await openEngine(database, { ...sandbox, url }, options);
    await run(async () => {
      await clock.advance(3_600_000);
      requests = 0;
      const begun = new Date(clock.now());
      const [order] = await serveOrders(engine, 'sync', { whole: true });
      const { rows } = await database.query<{ id: number }>('select id::int from warehouse.products order by id');
      const proofs = await database.query(
        `select from sluice.complete('-infinity', 'infinity') where resource = 'products' and complete and as_of >= $1`,
        [begun],
      );
      return { stored: rows.map(({ id }) => id), complete: proofs.rows.length > 0, requests, state: order?.state };
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

test('rows that pages leave out and the list counts are not deleted before three tasks have found the count wrong', async () => {
  let all = products(1, 230).reverse();
  let left: readonly number[] = [];
  const places = () => all.map(row => (left.includes(row.id) ? null : row));
  await withProducts({ places, count: () => all.length }, async sync => {
    await sync();
    // Edited rows are seen to keep their places.
    all = all.map(row => (row.id === 7 ? product(7, 8) : row));
    for (let times = 0; times < 2; times++) await sync();
    left = [20, 120, 225];
    for (let times = 0; times < 2; times++) expect((await sync()).stored).toEqual(idsOf(all));
    await sync();
    expect((await sync()).stored).toEqual(idsOf(all.filter(({ id }) => !left.includes(id))));
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

test('an empty answer for the first two rows of a list, which its source takes out of pages, proves no empty list', async () => {
  const all = products(1, 80).reverse();
  // Its pages show 14, 11, 4 and 3 rows.
  const isHidden = (id: number) => id > 74 || (id > 24 && id < 50) || id < 18;
  const live = all.filter(({ id }) => !isHidden(id));
  const places = () => all.map(row => (isHidden(row.id) ? null : row));
  await withProducts({ places, count: () => all.length, mostAccepted: 20 }, async sync => {
    for (let times = 0; times < 4; times++) {
      const { stored, complete } = await sync();
      expect(stored.length === live.length || !complete).toBe(true);
    }
    expect(await sync()).toMatchObject({ stored: idsOf(live) });
  });
});

test('a list whose source takes all rows out of its first page is read behind that page', async () => {
  const all = products(1, 80).reverse();
  const live = all.filter(({ id }) => id <= 68);
  const places = () => all.map(row => (row.id > 68 ? null : row));
  const size = (wanted: number) => (wanted === 25 ? 25 : 10);
  await withProducts({ places, count: () => all.length, size }, async sync => {
    for (let times = 0; times < 4; times++) {
      const { stored, complete } = await sync();
      expect(stored.length === live.length || !complete).toBe(true);
    }
    expect(await sync()).toMatchObject({ stored: idsOf(live) });
  });
});

test('a reading that was stopped goes on, although its short first page promised a page that the source refuses', async () => {
  const sandbox = await openSandbox({ size: { customers: 1, invoices: 1, transactions: 250 }, rateLimit: 0 });
  let isStopped = true;
  const url = await openProxy(sandbox, (answer, { path, query }) => {
    const { data, meta } = answer.body as { data: unknown[]; meta?: { total_pages: number } };
    if (path !== '/api/v2/transactions' || !meta || meta.total_pages === 1) return answer;
    const page = Number(query.get('page') ?? 1);
    if (page > meta.total_pages || (page === 2 && isStopped))
      return { status: 422, body: { success: false, message: 'No such page' } };
    return page === 1 ? { status: 200, body: { success: true, data: data.slice(40), meta } } : answer;
  });
  await withDatabase(async database => {
    const options = { limit: 100_000, resources: ['transactions'] as const };
    const engine = await openEngine(database, { ...sandbox, url }, options);
    expect(await serveOrders(engine, 'sync')).toMatchObject([{ state: 'failed' }]);
    isStopped = false;
    // The count is doubted once it differed twice, and the days are read in parts.
    for (let times = 0; times < 2; times++) await serveOrders(engine, 'sync');
    expect(await serveOrders(engine, 'sync')).toMatchObject([{ state: 'done' }]);
    expect(await differences(database, sandbox, 5, ['transactions'])).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});

test('a source that refuses pages behind its last is asked for one in doubt, and believed', async () => {
  let live = products(1, 200);
  await withProducts({ places: () => live, count: () => live.length, refusesBehind: true }, async sync => {
    for (let times = 0; times < 2; times++) expect(await sync()).toMatchObject({ stored: idsOf(live), complete: true });
    live = products(4, 203);
    for (let times = 0; times < 3; times++) await sync();
    expect(await sync()).toMatchObject({ stored: idsOf(live), complete: true });
  });
});

test.each(
  some(
    [100, 20].flatMap(most =>
      [true, false].flatMap(isNewestFirst => [
        { isNewestFirst, most, behind: 'refuses' },
        { isNewestFirst, most, behind: 'shows the first for' },
      ]),
    ),
    1,
  ),
)(
  'a source without a count that $behind pages behind its last ends there (newest first: $isNewestFirst, $most rows a page)',
  async ({ isNewestFirst, most, behind }) => {
    const inOrder = (rows: Product[]) => rows.sort((a, b) => (isNewestFirst ? b.id - a.id : a.id - b.id));
    let live = inOrder(products(1, 237));
    const source = {
      places: () => live,
      count: () => null,
      size: (wanted: number) => Math.min(wanted, most),
      refusesBehind: behind === 'refuses',
      wrapsBehind: behind !== 'refuses',
    };
    await withProducts(source, async sync => {
      for (let times = 0; times < 2; times++) await sync();
      expect(await sync()).toMatchObject({ stored: idsOf(live) });
      // Its places of before are behind its end now.
      live = inOrder([...products(1, 59), ...products(81, 238)]);
      for (let times = 0; times < 4; times++) await sync();
      expect(await sync()).toMatchObject({ stored: idsOf(live) });
    });
  },
);

test('behind a full page, a refusal is no end: it may have further pages that the source does not show', async () => {
  let live = products(1, 204).reverse();
  let shownPages = 3;
  const places = () => live.slice(0, 100 * shownPages);
  await withProducts({ places, count: () => null, refusesBehind: true }, async sync => {
    for (let times = 0; times < 2; times++) await sync();
    expect(await sync()).toMatchObject({ stored: idsOf(live) });
    shownPages = 2;
    for (let times = 0; times < 4; times++) expect(await sync()).toMatchObject({ stored: idsOf(live) });
    live = products(1, 209).reverse();
    shownPages = 3;
    for (let times = 0; times < 2; times++) await sync();
    expect(await sync()).toMatchObject({ stored: idsOf(live) });
  });
});

const HIDDEN_SORTS = [
  { isNewestFirst: true, isCounted: true },
  { isNewestFirst: false, isCounted: true },
  { isNewestFirst: true, isCounted: false },
];

test.each(some(HIDDEN_SORTS, 1))(
  'a row that a field which is not shown moves to where new rows come, between two pages, is neither deleted nor absent from a complete list (%o)',
  async ({ isNewestFirst, isCounted }) => {
    const all = products(1, 460);
    let edits = 0;
    let moving: number | null = null;
    const moved: number[] = [];
    const places = () => {
      const oldestFirst = [...all.filter(({ id }) => !moved.includes(id)), ...moved.map(id => all[id - 1] as Product)];
      return isNewestFirst ? oldestFirst.reverse() : oldestFirst;
    };
    const shown = (page: number) => {
      if (page !== 1 || moving === null) return;
      moved.push(moving);
      moving = null;
    };
    await withProducts({ places, count: () => (isCounted ? all.length : null), shown }, async sync => {
      for (let times = 0; times < 4; times++) {
        for (const id of [5, 160, 300, 410]) all[id - 1] = product(id, 500 + edits++);
        all.push(product(all.length + 1));
        await sync();
      }
      for (const id of [151, 252]) {
        moving = id;
        const { stored, complete } = await sync();
        expect(stored.includes(id) || !complete).toBe(true);
        expect((await sync()).stored).toEqual(idsOf(all));
      }
    });
  },
);

test('a list that moves a row while it is read for the first time is not complete without it', async () => {
  const all = products(1, 460);
  let places: readonly Product[] = all;
  const shown = (page: number) => {
    if (page === 1) places = [...all.filter(({ id }) => id !== 151), all[150] as Product];
  };
  await withProducts({ places: () => [...places].reverse(), count: () => 460, shown }, async sync => {
    const { stored, complete } = await sync();
    expect(stored.length === 460 || !complete).toBe(true);
  });
});

test('a deleted row leaves a list in the order of ids, although rows are added between all pages', async () => {
  let live = products(1, 460);
  let edits = 0;
  const shown = () => {
    live.push(product((live.at(-1) as Product).id + 1));
  };
  await withProducts({ places: () => [...live].reverse(), count: () => live.length, shown }, async sync => {
    for (let times = 0; times < 4; times++) {
      live = live.map(row => (row.id % 90 === 5 ? product(row.id, 500 + edits++) : row));
      await sync();
    }
    live = live.filter(({ id }) => id !== 151);
    await sync();
    expect((await sync()).stored).not.toContain(151);
  });
});

test('rows behind a first page that shows more than its old count are read on the next page, and not deleted', async () => {
  let live = products(1, 95).reverse();
  let count = 95;
  await withProducts({ places: () => live, count: () => count }, async sync => {
    for (let times = 0; times < 3; times++) await sync();
    // Somebody else has asked for the count a moment ago, and the page size is unknown: the list has always fitted on one page.
    live = [...products(96, 103).reverse(), ...live];
    for (count of [97, 100, 103]) expect((await sync()).stored).toHaveLength(103);
  });
});

test('a list that was never read is complete only with what lies behind a page that is longer than its count', async () => {
  await withProducts({ places: () => products(1, 103).reverse(), count: () => 97 }, async sync => {
    expect(await sync()).toMatchObject({ complete: true, stored: { length: 103 } });
  });
});

test('a row that somebody drags to the top while a list without a count is read is not deleted', async () => {
  let live = products(1, 250);
  let isDragged = true;
  const drag = (page: number) => {
    if (isDragged || page !== 1) return;
    isDragged = true;
    live = [product(150), ...live.filter(({ id }) => id !== 150)];
  };
  await withProducts({ places: () => live, count: () => null, shown: drag }, async sync => {
    await sync();
    live = live.map(row => (row.id === 220 ? product(220, 221) : row));
    await sync();
    isDragged = false;
    for (let times = 0; times < 3; times++) expect((await sync()).stored).toHaveLength(250);
    expect(isDragged).toBe(true);
    live = live.filter(({ id }) => id !== 40);
    for (let times = 0; times < 3; times++) await sync();
    expect((await sync()).stored).toHaveLength(249);
  });
});

test('a source that shows no row of a page longer than its maximum is asked for shorter ones', async () => {
  await withProducts({ places: () => products(1, 80).reverse(), count: () => 80, mostShown: 100 }, async sync => {
    expect(await sync()).toMatchObject({ complete: true, stored: { length: 80 } });
  });
});

test('such a source is asked for shorter pages even if it hides all rows of the page that it shows without a limit', async () => {
  const live = products(1, 50);
  const places = () =>
    products(1, 80)
      .map(row => (row.id > 50 ? null : row))
      .reverse();
  await withProducts({ places, count: () => 80, mostShown: 100 }, async sync => {
    for (let times = 0; times < 5; times++) expect(await sync()).toMatchObject({ stored: idsOf(live) });
  });
});

test.each([80, null])(
  'a list whose pages are numbered from 0 is never complete without its first page (count: %s)',
  async count => {
    const paging = { places: () => products(1, 80).reverse(), count: () => count, firstPage: 0 };
    await withProducts(paging, async sync => {
      for (let times = 0; times < 4; times++)
        expect(await sync()).toMatchObject({ complete: false, stored: { length: 0 } });
    });
  },
);

test.each([404, 422])(
  'an empty list of a source that insists on page and limit (%i without) is complete',
  async bare => {
    await withProducts({ places: () => [], count: () => null, bare }, async sync => {
      for (let times = 0; times < 2; times++)
        expect(await sync()).toMatchObject({ complete: true, stored: { length: 0 } });
    });
  },
);

test.each(['id-desc', 'id-asc'])(
  'a list that shrank to one page, which comes again, turns pages once it has grown (%s)',
  async order => {
    const inOrder = (rows: readonly Product[]) => (order === 'id-desc' ? [...rows].reverse() : [...rows]);
    let live = inOrder(products(1, 45));
    await withProducts({ places: () => live, count: () => null, size: () => 30, repeatsLast: true }, async sync => {
      const syncs = async (times: number) => {
        for (let time = 0; time < times; time++) await sync();
      };
      await syncs(3);
      live = inOrder(live.filter(({ id }) => id <= 15 || id > 35).sort((a, b) => a.id - b.id));
      await syncs(3);
      for (const [from, to] of [
        [46, 48],
        [49, 53],
      ] as const) {
        live = inOrder([...live, ...products(from, to)].sort((a, b) => a.id - b.id));
        await syncs(2);
        expect(await sync()).toMatchObject({ stored: idsOf(live) });
      }
    });
  },
);

test('a list whose pages are counted by another size than they have is complete, and its oldest row leaves', async () => {
  let live = products(1, 130).reverse();
  const pages = (rows: number) => Math.ceil(rows / 20);
  await withProducts({ places: () => live, count: () => live.length, pages }, async sync => {
    await sync();
    expect(await sync()).toMatchObject({ stored: idsOf(live), complete: true });
    live = live.filter(({ id }) => id !== 1);
    for (let times = 0; times < 3; times++) await sync();
    expect(await sync()).toMatchObject({ stored: idsOf(live), complete: true });
  });
});

test('the last row of a list is not deleted where a count of before makes its first page seem to be all', async () => {
  const shuffled = products(1, 30).sort((a, b) => a.price - b.price);
  let live = shuffled;
  let count = 30;
  await withProducts({ places: () => live, count: () => count, size: wanted => Math.min(wanted, 30) }, async sync => {
    for (let times = 0; times < 2; times++) await sync();
    live = [product(31), ...shuffled];
    for (let times = 0; times < 2; times++)
      expect((await sync()).stored).toEqual(expect.arrayContaining(idsOf(shuffled)));
    count = 31;
    await sync();
    expect(await sync()).toMatchObject({ stored: idsOf(live), complete: true });
  });
});

test('the start of a range is reached although rows that the key may not see keep their places before it', async () => {
  const all = products(6, 29).reverse();
  let live = all;
  const isHidden = (row: Product) => row.id >= 21 && row.id <= 28;
  const places = () => live.map(row => (isHidden(row) ? null : row));
  const shown = () => live.filter(row => !isHidden(row));
  await withProducts({ places, count: () => live.length, rowsAPage: 20 }, async sync => {
    for (let times = 0; times < 4; times++)
      expect(await sync()).toMatchObject({ stored: idsOf(shown()), state: 'done' });
    live = all.filter(row => row.id !== 7 && row.id !== 12);
    for (let times = 0; times < 3; times++) expect((await sync()).state).toBe('done');
    expect((await sync()).stored).toEqual(idsOf(shown()));
  });
});
