// Counts announcements and held values in ninety days of honest work: what Sluice says although nothing is wrong.
//   npx tsx bench/honest-edits.ts [--days 90] [--seed 1] [--json]
// The stream of `bench/freshness.ts` changes the rows of a medium source, and each list is read once a day, so that a run shows the changes of a whole day.
// Beside it: at the end of each month, two thirds of the open invoices are paid; on day 40, 5,000 invoices of earlier years are
// imported; on day 60, the notes of half of all invoices are edited; on day 75, every fifth product costs 3% more.
import { parseArgs } from 'node:util';
import { dateOf } from '../sandbox/data/calendar.ts';
import { openSandbox, type Sandbox } from '../sandbox/sandbox.ts';
import { DAY, HOUR, SECOND } from '../src/clock.ts';
import { createLog } from '../src/log.ts';
import { type Database, openDatabase } from '../src/warehouse/database/database.ts';
import type { Order } from '../src/warehouse/ledgers/orders.ts';
import { openServer, withClone } from '../test/simulation/play/server.ts';
import { differences } from '../test/support/compare.ts';
import { openEngine, serveOrders } from '../test/support/source.ts';
import { createVirtualClock } from '../test/support/virtual-clock.ts';
import { SIZES, START_MS, STREAM } from './freshness/parameters.ts';
import { applyChange, fillSource } from './freshness/product/source-rows.ts';
import { createStream, type Stream } from './freshness/stream/stream.ts';
import { figure, print, progress } from './support/print.ts';

const { values: given } = parseArgs({
  options: {
    days: { type: 'string', default: '90' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const days = Number(given.days);
const LISTS = ['customers', 'invoices', 'transactions', 'products'] as const;
const IMPORTED = 5000;
const PRODUCTS = 500;
const IMPORT_DAY = 40;
const log = createLog({ level: 'silent' });

/** What people do at the source on some days, beside the stream. */
interface Event {
  readonly name: string;
  happensOn(day: number, at: Date): boolean;
  /** Returns how many rows it changed. */
  act(sandbox: Sandbox, stream: Stream, at: Date): number;
}

const EVENTS: readonly Event[] = [
  {
    name: 'month-end',
    happensOn: (_day, at) => new Date(at.getTime() + DAY).getUTCDate() === 1,
    act({ data }, { open }, at) {
      const paid = idsOf(data.invoices).filter(id => id % 3 > 0 && open.has(idInStream(id)));
      for (const id of paid) data.invoices.update(id, { status: 'Paid' }, at.getTime() / SECOND);
      return paid.length;
    },
  },
  {
    name: `import of ${figure(IMPORTED)} old invoices`,
    happensOn: day => day === IMPORT_DAY,
    act({ data }, _stream, at) {
      lastBeforeImport = Math.max(...idsOf(data.invoices));
      for (let number = 0; number < IMPORTED; number++) {
        const day = at.getTime() / DAY - 800 - (number % 1000);
        const { id: _, ...row } = data.invoices.get(1 + number) ?? data.invoices.get(1) ?? never();
        const imported = { ...row, invoice_number: `OLD-${number}`, date: dateOf(day), due_date: dateOf(day + 30) };
        data.invoices.insert({ ...imported, status: 'Paid' }, at.getTime() / SECOND);
      }
      return IMPORTED;
    },
  },
  {
    name: 'edit of the notes of half of all invoices',
    happensOn: day => day === 60,
    act({ data }, _stream, at) {
      const half = idsOf(data.invoices).filter(id => id % 2 === 0);
      for (const id of half) data.invoices.update(id, { notes: `Contract ${id}, renewed` }, at.getTime() / SECOND);
      return half.length;
    },
  },
  {
    name: 'price of every fifth product',
    happensOn: day => day === 75,
    act({ data }, _stream, at) {
      const some = idsOf(data.products).filter(id => id % 5 === 0);
      for (const id of some) {
        const { price } = data.products.get(id) ?? never();
        data.products.update(id, { price: Math.round(Number(price) * 103) / 100 }, at.getTime() / SECOND);
      }
      return some.length;
    },
  },
];

const idsOf = (table: { rows(): Iterable<{ readonly id: number }> }): number[] =>
  Array.from(table.rows(), ({ id }) => id);

/** The import takes the ids that the stream would give to its next invoices. */
let lastBeforeImport = Number.POSITIVE_INFINITY;
const idAtSource = (id: number): number => (id > lastBeforeImport ? id + IMPORTED : id);
const idInStream = (id: number): number => (id > lastBeforeImport ? id - IMPORTED : id);

function never(): never {
  throw new Error('No such row.');
}

interface Told {
  readonly resource: string;
  readonly field: string;
  readonly rows: number;
  readonly stored: number;
  readonly looks: string | null;
  readonly at: Date;
}

async function play(url: string) {
  const database = await openDatabase({ url, applicationName: 'bench', log, max: 8 });
  const clock = await createVirtualClock(database, new Date(START_MS).toISOString(), { quietMs: 1 });
  const sandbox = await openSandbox({
    size: { customers: 0, invoices: 0, transactions: 0 },
    clock,
    rateLimit: 0,
    logRequests: 0,
  });
  const stream = createStream({
    counts: SIZES.medium,
    seed: Number(given.seed),
    parameters: STREAM,
    startMs: START_MS,
  });
  fillSource(sandbox.data, stream);
  for (let number = sandbox.data.products.length; number < PRODUCTS; number++) {
    const { id: _, ...row } = sandbox.data.products.get(1 + (number % 20)) ?? never();
    sandbox.data.products.insert({ ...row, name: `Article ${number}` }, START_MS / SECOND);
  }
  for (const id of idsOf(sandbox.data.invoices))
    sandbox.data.invoices.update(id, { notes: `Contract ${id}` }, START_MS / SECOND);
  const engine = await openEngine(database, sandbox, { clock, limit: 1_000_000, resources: LISTS });
  const events: { readonly day: number; readonly name: string; readonly rows: number }[] = [];
  let requests = 0;
  let mostHeld = 0;
  const red: string[] = [];
  for (let day = 0; day <= days; day++) {
    if (day > 0) await clock.advance(DAY - (clock.now() % DAY) + 2 * HOUR);
    const at = new Date(clock.now());
    for (const change of stream.advanceTo(at.getTime()))
      applyChange(sandbox.data, change.list === 'invoices' ? { ...change, id: idAtSource(change.id) } : change);
    for (const event of EVENTS)
      if (day > 0 && event.happensOn(day, at))
        events.push({ day, name: event.name, rows: event.act(sandbox, stream, at) });
    const before = sandbox.stats.total;
    const orders = await serveOrders(engine, 'sync', { whole: true });
    red.push(...orders.flatMap(order => reasonOf(order, day)));
    requests += sandbox.stats.total - before;
    mostHeld = Math.max(mostHeld, await heldIn(database));
    if (day % 10 === 0) progress(`day ${day}: ${figure(requests)} requests`);
  }
  const different = await differences(database, sandbox, 5, [...LISTS]);
  const { rows: told } = await database.query<Told & Record<string, unknown>>(
    'select resource, field, rows, stored, looks, at from sluice.rewrites order by at, resource, field',
  );
  await engine.close();
  await sandbox.close();
  await database.close();
  return { events, requests, mostHeld, red, different, told };
}

const reasonOf = ({ resource, state, reason }: Order, day: number): string[] =>
  state === 'done' ? [] : [`day ${day}, ${resource}: ${reason ?? state}`];

async function heldIn(database: Database): Promise<number> {
  const { rows } = await database.query<{ held: number }>('select count(*)::int as held from sluice.held');
  return rows[0]?.held ?? 0;
}

const server = await openServer();
try {
  const { events, requests, mostHeld, red, different, told } = await withClone(server, play);
  const document = {
    days,
    seed: Number(given.seed),
    events,
    requests,
    mostHeld,
    red,
    different,
    told,
  };
  if (!given.json) {
    for (const { day, name, rows } of events) console.log(`day ${day}: ${name} (${figure(rows)} rows)`);
    for (const { resource, field, rows, stored, looks } of told)
      console.log(
        `told: ${resource}.${field}, ${figure(rows)} of ${figure(stored)} values replaced${looks ? `: ${looks}` : ''}`,
      );
    for (const each of [...red, ...different]) console.log(each);
  }
  print({
    json: given.json,
    document,
    head: ['days', 'requests', 'announced', 'held at most', 'syncs not done', 'rows that differ'],
    rows: [[given.days, figure(requests), told.length, mostHeld, red.length, different.length].map(String)],
  });
} finally {
  await server.close();
}
