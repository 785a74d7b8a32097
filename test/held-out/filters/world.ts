import { DAY, HOUR, MINUTE } from '../../src/clock.ts';
import type { Engine } from '../../src/engine/run/engine.ts';
import { newMemory } from '../../src/engine/run/agenda.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { withDatabase } from '../support/database.ts';
import { oneGrantAtATime, openEngine, serveOrders, serveTick } from '../support/source.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

export type List = 'invoices' | 'transactions' | 'quotes' | 'tickets';
// biome-ignore lint/suspicious/noExplicitAny: rows of every list
export type Row = any;

export interface Behaviour {
  /** Changes the query, or answers. */
  pre?(q: Query, w: World): void | { status: number; body: unknown };
  date?(row: Row, from: string | null, to: string | null, w: World): boolean;
  customer?(row: Row, value: string, w: World, q: Query): boolean;
  status?(row: Row, value: string, w: World, q: Query): boolean;
  /** Whether the unfiltered list shows it. */
  listed?(row: Row, w: World): boolean;
  /** A last word about rows of a filter; `rows` are sorted. */
  post?(rows: Row[], q: Query, w: World): Row[];
  /** Whether filters see deleted rows. */
  gone?(q: Query, w: World): boolean;
  /** The state of the row that the query sees (an old one where it lags). */
  version?(row: Row, q: Query, w: World): Row | null;
  render?(row: Row, q: Query, w: World): Row;
  make?(row: Row, w: World): void;
  step?(round: number, w: World): void;
  counts?(n: number, q: Query, w: World): number | null;
  truth?(row: Row, w: World): boolean;
  lagMs?: number;
}

export interface Query {
  from: string | null;
  to: string | null;
  customer: string | null;
  status: string | null;
  filtered: boolean;
}

export interface World {
  list: List;
  rows: Row[];
  now: number;
  today: string;
  random(): number;
  insert(over?: Row): Row;
  edit(row: Row, over: Row): void;
  remove(row: Row): void;
  live(): Row[];
}

export const addDays = (day: string, n: number) => new Date(Date.parse(day) + n * DAY).toISOString().slice(0, 10);

export interface Setup {
  list: List;
  order: string;
  paging: 'meta' | 'no-meta' | 'whole';
  max?: number;
  size?: number;
  undated?: boolean;
  quiet?: boolean;
  rounds?: number;
  limit?: number;
}

export interface Report {
  problems: string[];
  lines: string[];
  traits: string[];
}

const NAMES: Record<List, string> = {
  invoices: '/api/v2/invoices',
  transactions: '/api/v2/transactions',
  quotes: '/api/v2/quotes',
  tickets: '/api/v2/tickets',
};

export async function play(behaviour: Behaviour, setup: Setup): Promise<Report> {
  const report: Report = { problems: [], lines: [], traits: [] };
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const w = createWorld(setup, behaviour, clock);
    let requests = 0;
    const log: string[] = [];
    let mid: ((nth: number) => void) | null = null;
    const server = createServer((request, response) => {
      requests++;
      w.now = clock.now();
      w.today = new Date(w.now).toISOString().slice(0, 10);
      mid?.(requests);
      const url = new URL(request.url ?? '/', 'http://x');
      const [status, body] = answer(url, w, behaviour, setup);
      // biome-ignore lint/suspicious/noExplicitAny: for the log
      log.push(`${url.pathname}${url.search} -> ${status} ${(body as any).data?.length} of ${(body as any).meta?.total_records}`);
      if (process.env.TRACE) console.log(log.at(-1));
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    const peer = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
    const engine = await openEngine(database, { url: peer.url, apiKey: 'k' } as never, {
      clock,
      wrapBudget: oneGrantAtATime(clock),
      limit: setup.limit ?? 300,
      resources: [setup.list],
      lagMs: behaviour.lagMs ?? 0,
    });
    const memory = newMemory();
    const removedAt = new Map<string, number>();
    let syncs = 0;
    const seenProblems = new Set<string>();
    const say = (problem: string, line: string) => {
      if (seenProblems.has(problem)) return;
      seenProblems.add(problem);
      report.problems.push(`${line}: ${problem}`);
    };
    const check = async (name: string, states: string[], before: number) => {
      w.now = clock.now();
      const table = `warehouse.${setup.list}`;
      const { rows: stored } = await database.query<Row>(`select *, ${dates(setup.list)} from ${table}`);
      const byId = new Map(stored.map(row => [String(row.id), row]));
      const { rows: gone } = await database.query<{ key: string }>(
        `select key from warehouse.row_history where ended_by = 'deleted'`,
      );
      const { rows: complete } = await database.query<{ complete: boolean; as_of: Date }>(
        `select complete, as_of from sluice.complete('-infinity', 'infinity') where resource = $1`,
        [setup.list],
      );
      const { rows: missingRows } = await database.query<{ key: string }>(`select key from sluice.missing`);
      const missing = new Set(missingRows.map(({ key }) => key));
      const [c] = complete;
      const asOf = c?.as_of ? +new Date(c.as_of) : 0;
      let absent = 0;
      let stale = 0;
      let extra = 0;
      const truth = new Map(
        w.rows.filter(row => !row._gone && (behaviour.truth ?? behaviour.listed ?? (() => true))(row, w)).map(row => [String(row.id), row]),
      );
      for (const [id, row] of truth) {
        const got = byId.get(id);
        if (!got) {
          absent++;
          const wasDeleted = gone.some(({ key }) => key === id);
          if (wasDeleted) say(`LIVE ROW DELETED ${id} ${brief(row)}`, name);
          if (c?.complete && row._shownSince < asOf) say(`COMPLETE BUT ABSENT ${id} ${brief(row)}`, name);
        } else if (differs(setup.list, row, got, behaviour, w)) {
          stale++;
          if (c?.complete && row._changed < asOf) say(`COMPLETE BUT STALE${missing.has(id) ? ' (known as missing)' : ''} ${id} ${brief(row)} / stored ${brief(got)}`, name);
        }
      }
      for (const id of byId.keys())
        if (!truth.has(id)) {
          extra++;
          const row = w.rows.find(each => String(each.id) === id);
          if (row?._gone) {
            const since = syncs - (removedAt.get(id) ?? 0);
            if (since === 5) say(`STILL STORED ${since} syncs after its deletion ${id} ${brief(row)}`, name);
            if (c?.complete && row._gone < asOf && since >= 3) say(`COMPLETE BUT DELETED ROW STORED ${id}`, name);
          }
        }
      const n = requests - before;
      if (n > 250) say(`${n} REQUESTS`, name);
      report.lines.push(
        `${name}: ${states.join(',')} req=${n} live=${truth.size} stored=${byId.size} absent=${absent} stale=${stale} extra=${extra} missing=${missing.size} deleted=${gone.length} complete=${c?.complete}`,
      );
      if (process.env.TRACE) console.log(report.lines.at(-1));
      if (process.env.LOG) report.lines.push(...log.map(each => `     ${each}`));
      log.length = 0;
    };
    const sync = async (name: string) => {
      await clock.advance(HOUR);
      const before = requests;
      syncs++;
      const states = (await serveOrders(engine, 'sync', { whole: true })).map(o => o.reason ?? o.state);
      await check(`${name} sync`, states, before);
    };
    const tick = async (name: string, asks = 0) => {
      await clock.advance(15 * MINUTE);
      const before = requests;
      await serveTick(engine as Engine, asks, memory);
      await check(`${name} tick`, [], before);
    };
    const change = (fn: () => void) => {
      w.now = clock.now();
      w.today = new Date(w.now).toISOString().slice(0, 10);
      const before = new Set(w.rows.filter(row => row._gone).map(row => row.id));
      fn();
      for (const row of w.rows) if (row._gone && !before.has(row.id)) removedAt.set(String(row.id), syncs);
    };
    const midChange = (every: number, most: number) => {
      let done = 0;
      const start = requests;
      return () => {
        if (done >= most || (requests - start) % every !== 0) return;
        done++;
        change(() => {
          const live = w.live();
          const row = live[Math.floor(w.random() * live.length)];
          if (done % 4 === 0) w.remove(row);
          else if (done % 4 === 1 && row.date !== undefined) w.edit(row, { date: addDays(w.today, -Math.floor(w.random() * 500)) });
          else if (done % 4 === 2) w.insert({});
          else w.edit(row, { amount: 1 + Math.floor(w.random() * 1000) });
        });
      };
    };
    await sync('0');
    await sync('1');
    const rounds = setup.rounds ?? 99;
    const usual = (n: number) => {
      w.insert({});
      if (setup.list !== 'tickets') {
        w.insert({ date: addDays(w.today, -40) });
        w.insert({ date: addDays(w.today, -200) });
        w.insert({ date: addDays(w.today, 20) });
      }
      const live = w.live();
      for (let i = 0; i < n; i++) w.edit(live[Math.floor(w.random() * live.length)], { amount: 7 + i, subject: `s${i}` });
      w.remove(live[Math.floor(live.length / 3)]);
      w.remove(live[Math.floor((2 * live.length) / 3)]);
    };
    const plan: (() => Promise<void>)[] = [
      async () => { change(() => { behaviour.step?.(2, w); usual(4); }); await sync('2'); },
      async () => { change(() => behaviour.step?.(3, w)); await sync('3'); },
      async () => { change(() => behaviour.step?.(4, w)); await sync('4'); },
      async () => { mid = midChange(2, 4); await sync('5'); mid = null; },
      async () => { mid = midChange(3, 4); await sync('6'); mid = null; },
      async () => { change(() => behaviour.step?.(7, w)); await sync('7'); },
      async () => { change(() => { behaviour.step?.(8, w); usual(2); }); for (let i = 0; i < 2; i++) await tick(`8.${i}`, 4); await sync('8'); },
      async () => { change(() => behaviour.step?.(9, w)); for (let i = 0; i < 2; i++) await tick(`9.${i}`, 4); await sync('9'); },
      async () => { change(() => { behaviour.step?.(10, w); const live = w.live(); w.remove(live[5]); w.remove(live[live.length - 6]); }); await sync('10'); },
      async () => { change(() => behaviour.step?.(11, w)); await sync('11'); },
      async () => { await sync('12'); },
      async () => { await sync('13'); },
    ];
    for (const [i, step] of plan.entries()) if (i + 2 <= rounds) await step();
    const { rows: traits } = await database.query<Row>(
      `select trait, value, evidence from sluice.traits where resource = $1 order by trait`,
      [setup.list],
    );
    report.traits = traits.map((t: Row) => `${t.trait}=${String(t.value).slice(0, 90)}`);
    const { rows: quarantined } = await database.query<Row>(
      `select count(*) as n, min(reason) as reason from sluice.quarantine where resolved_at is null`,
    ).catch(() => ({ rows: [] as Row[] }));
    if (quarantined[0] && quarantined[0].n !== '0') report.lines.push(`quarantined ${JSON.stringify(quarantined[0])}`);
    const { rows: versions } = await database.query<Row>(`select count(*) as n from warehouse.row_history where ended_by <> 'deleted'`);
    report.lines.push(`replaced versions kept: ${versions[0].n}`);
    await engine.close();
    server.closeAllConnections();
    server.close();
  });
  return report;
}

const dates = (list: List) =>
  list === 'tickets' ? '1' : list === 'quotes' ? 'valid_until::text as date' : 'date::text as date';

export const brief = (row: Row): string =>
  JSON.stringify({ date: row.date, customer: row.customer_id, amount: row.amount, status: row.status, ...(row._note && { note: row._note }) });

function differs(list: List, row: Row, got: Row, behaviour: Behaviour, w: World): boolean {
  const plain: Query = { from: null, to: null, customer: null, status: null, filtered: false };
  const shown = behaviour.render ? behaviour.render({ ...row }, plain, w) : row;
  if (list === 'tickets') return shown.status !== got.status || shown.subject !== got.subject;
  if (list === 'quotes') return String(shown.customer_id) !== String(got.customer_id) || (shown.date ?? null) !== got.date;
  return Number(shown.amount) !== Number(got.amount) || (shown.date?.slice(0, 10) ?? null) !== got.date || (list === 'invoices' && (shown.status !== got.status || String(shown.customer_id) !== String(got.customer_id)));
}

function createWorld(setup: Setup, behaviour: Behaviour, clock: VirtualClock): World {
  let seed = 12345;
  const random = () => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    return seed / 0x7fffffff;
  };
  let nextId = 1;
  const w: World = {
    list: setup.list,
    rows: [],
    now: clock.now(),
    today: '2026-01-15',
    random,
    live: () => w.rows.filter(row => !row._gone),
    insert(over = {}) {
      const id = nextId++;
      const date = over.date === undefined ? w.today : over.date;
      const row: Row = {
        id,
        customer_id: 1 + Math.floor(random() * 40),
        date,
        due_date: date === null ? null : addDays(date, 30),
        amount: Math.floor(random() * 100000) / 100,
        status: setup.list === 'tickets' ? (['Open', 'Closed', 'Pending', 'Closed', 'Closed'][id % 5] as string) : (['Paid', 'Unpaid', 'Paid', 'Partially Paid', 'Paid', 'Paid'][id % 6] as string),
        type: id % 2 ? 'Income' : 'Expense',
        subject: `Subject ${id}`,
        _created: date ?? w.today,
        _paid: id % 6 === 1 || date === null ? null : addDays(date, 20),
        _changed: w.now,
        _shownSince: w.now,
        _versions: [],
        ...over,
      };
      behaviour.make?.(row, w);
      w.rows.push(row);
      return row;
    },
    edit(row, over) {
      row._versions.push({ ...row, _until: w.now, _versions: [] });
      Object.assign(row, over);
      row._changed = w.now;
    },
    remove(row) {
      row._gone = w.now;
    },
  };
  const size = setup.size ?? 150;
  for (let i = 0; i < size; i++)
    w.insert({ date: setup.undated && i % 40 === 7 ? null : addDays('2026-01-14', -Math.floor(((size - i) * 480) / size) - Math.floor(random() * 9) + 5) });
  return w;
}

function answer(url: URL, w: World, b: Behaviour, setup: Setup): [number, unknown] {
  if (url.pathname !== NAMES[w.list]) return [404, { success: false, message: 'Not found' }];
  const get = (name: string) => url.searchParams.get(name);
  const q: Query = { from: null, to: null, customer: null, status: null, filtered: false };
  if (w.list === 'invoices' || w.list === 'transactions') {
    q.from = get('date_from');
    q.to = get('date_to');
  }
  if (w.list === 'invoices') q.customer = get('customer_id');
  if (w.list === 'invoices' || w.list === 'tickets') q.status = get('status');
  q.filtered = [q.from, q.to, q.customer, q.status].some(each => each !== null);
  const given = b.pre?.(q, w);
  if (given) return [given.status, given.body];
  const base = b.gone?.(q, w) ? w.rows : w.rows.filter(row => !row._gone || b.version);
  let rows = base.flatMap(row => {
    if (b.version) return b.version(row, q, w) ?? [];
    return row;
  });
  const dateMatch = b.date ?? ((row: Row, from: string | null, to: string | null) => row.date !== null && (from === null || row.date >= from) && (to === null || row.date <= to));
  if (!q.filtered) rows = rows.filter(row => b.listed?.(row, w) ?? true);
  if (q.from !== null || q.to !== null) rows = rows.filter(row => dateMatch(row, q.from, q.to, w));
  if (q.customer !== null) rows = rows.filter(row => (b.customer ? b.customer(row, q.customer as string, w, q) : String(row.customer_id) === q.customer));
  if (q.status !== null) rows = rows.filter(row => (b.status ? b.status(row, q.status as string, w, q) : row.status === q.status));
  rows = sorted(rows, setup.order);
  if (b.post) rows = b.post(rows, q, w);
  const shown = (list: Row[]) =>
    list.map(row => {
      const r = b.render ? b.render({ ...row }, q, w) : row;
      const { id, customer_id, amount, date, status } = r;
      if (w.list === 'invoices') return { id, invoice_number: `INV-${id}`, customer_id, date, due_date: r.due_date, amount, status, items: [], notes: null };
      if (w.list === 'transactions') return { id, type: r.type, account_id: 1, category_id: 2, amount, description: `d${id}`, date };
      if (w.list === 'quotes') return { id, customer_id, valid_until: date, items: [] };
      return { id, customer_id, subject: r.subject, message: 'm', department_id: 1, priority: 'low', status };
    });
  if (setup.paging === 'whole') return [200, { success: true, data: shown(rows) }];
  const limit = Math.min(Number(get('limit') ?? 20), setup.max ?? 100);
  const page = Number(get('page') ?? 1);
  const data = shown(rows.slice((page - 1) * limit, page * limit));
  if (setup.paging === 'no-meta') return [200, { success: true, data }];
  const n = b.counts ? b.counts(rows.length, q, w) : rows.length;
  if (n === null) return [200, { success: true, data }];
  return [200, { success: true, data, meta: { current_page: page, total_pages: Math.max(1, Math.ceil(n / limit)), total_records: n } }];
}

function sorted(rows: Row[], order: string): Row[] {
  const by = (key: (row: Row) => number | string, sign: number) =>
    [...rows].sort((a, b) => (key(a) < key(b) ? -sign : key(a) > key(b) ? sign : a.id - b.id));
  switch (order) {
    case 'id-desc':
      return by(row => row.id, -1);
    case 'id-asc':
      return by(row => row.id, 1);
    case 'updated-desc':
      return by(row => row._changed * 10000 + row.id, -1);
    case 'date-desc':
      return by(row => `${row.date ?? ''} ${String(row.id).padStart(6, '0')}`, -1);
    default:
      return by(row => (row.id * 7919) % 1009, 1);
  }
}
