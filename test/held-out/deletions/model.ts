import { appendFileSync } from 'node:fs';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { openProxy, type ProxiedAnswer } from '../../conformance/tests/proxy.ts';
import { type TestDatabase, withDatabase } from '../../support/database.ts';
import { oneGrantAtATime, openEngine, serveOrders, serveTick } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

export type Row = Record<string, any>;
export type List = 'customers' | 'invoices' | 'transactions' | 'tickets';
export const OUT = process.env.OUT ?? '/tmp/held3.out';
const log = (text: string) => appendFileSync(OUT, `${text}\n`);

export interface Ask {
  list: List;
  query: URLSearchParams;
  path: string;
  /** number of this request in its sync */
  nth: number;
  round: number;
  now: number;
}
export interface Src {
  rows: Record<List, Map<string, Row>>;
  of(list: List): Row[];
  /** A row as lists show it; null: hidden. */
  view: (row: Row, ask: Ask) => Row | null;
  /** What the warehouse should hold of a live row; null: hidden at present. */
  truth: (row: Row, list: List) => Row | null;
  address: (id: string, ask: Ask) => ProxiedAnswer | null;
  answer: (ask: Ask, normal: () => ProxiedAnswer) => ProxiedAnswer;
  before: (ask: Ask) => void;
  nextId: Record<List, number>;
  add(list: List, patch?: Row): Row;
  remove(list: List, id: unknown): void;
  edit(list: List, id: unknown, patch: Row): void;
  round: number;
  snapshot(): () => void;
  now(): number;
}
export interface Mode {
  order?: 'id-desc' | 'id-asc' | 'shuffled' | 'updated-desc' | 'date-desc';
  paging?: 'meta' | 'whole' | 'no-meta';
  filters?: boolean;
  dates?: boolean;
  drive?: 'sync' | 'tick' | 'both';
  size?: { customers: number; invoices: number; transactions: number };
  lists?: List[];
  lagMs?: number;
  history?: boolean;
  gap?: number;
  max?: number;
}
export interface Case {
  name: string;
  rounds: number;
  mode?: Mode;
  /** Sets up hooks. */
  setup?: (src: Src) => void;
  /** Before round n (0 is the first sync). */
  step?: Record<number, (src: Src) => void>;
  /** before each round */
  each?: (src: Src, round: number) => void;
  gap?: (round: number) => number;
  /** rounds in which sync is with acceptDeletes etc. */
  accept?: Record<number, { acceptDeletes?: number; acceptLosses?: string[] }>;
  /** rows deleted at the source that are expected to stay (held) */
  detail?: boolean;
  end?: (db: any) => Promise<void>;
}

const hash = (n: number) => {
  let x = (n ^ 0x9e3779b9) >>> 0;
  x = Math.imul(x ^ (x >>> 16), 0x45d9f3b);
  x = Math.imul(x ^ (x >>> 16), 0x45d9f3b);
  return (x ^ (x >>> 16)) >>> 0;
};
const KEY: Record<List, string> = { customers: 'id', invoices: 'id', transactions: 'id', tickets: 'id' };
const FIELDS: Record<List, string[]> = {
  customers: ['account', 'email', 'phone', 'address', 'city', 'state', 'zip', 'country', 'created_at', 'updated_at'],
  invoices: ['invoice_number', 'customer_id', 'date', 'due_date', 'amount', 'status', 'notes'],
  transactions: ['type', 'account_id', 'category_id', 'amount', 'description', 'date'],
  tickets: ['customer_id', 'subject', 'message', 'department_id', 'priority', 'status'],
};
const norm = (field: string, value: unknown): string => {
  if (value === null || value === undefined || value === '') return '';
  if (/_at$/.test(field)) return String(Date.parse(String(value)));
  if (['amount', 'qty', 'customer_id', 'account_id', 'category_id', 'department_id'].includes(field))
    return String(Number(value));
  return String(value);
};

export async function play(kase: Case, given: Mode): Promise<void> {
  const mode: Required<Mode> = {
    order: 'id-desc', paging: 'meta', filters: true, dates: true, drive: 'sync', max: 100, gap: 3_600_000,
    size: { customers: 120, invoices: 240, transactions: 150 }, lists: ['customers', 'invoices', 'transactions', 'tickets'], lagMs: 0, history: false,
    ...given, ...kase.mode,
  };
  const label = `${mode.order},${mode.paging},${mode.filters ? 'filters' : 'NOfilters'},${mode.dates ? 'dates' : 'NOdates'},${mode.drive},lag${mode.lagMs}`;
  log(`\n=== ${kase.name} [${label}]`);
  const flags: string[] = [];
  await withDatabase(async (database) => {
    const clock = await createVirtualClock(database);
    const sandbox = await openSandbox({ size: mode.size, rateLimit: 0, clock });
    const rows = Object.fromEntries(
      mode.lists.map(list => [list, new Map([...sandbox.rows(list)].map(row => [String(row.id), structuredClone(row) as Row]))]),
    ) as Src['rows'];
    for (const list of ['customers', 'invoices', 'transactions', 'tickets'] as const) rows[list] ??= new Map([...sandbox.rows(list)].map(row => [String(row.id), structuredClone(row) as Row]));
    if (rows.tickets.size < 60) {
      const base = [...rows.tickets.values()];
      for (let i = rows.tickets.size + 1; i <= 60; i++) rows.tickets.set(String(i), { ...base[i % base.length], id: i });
    }
    const nextId = Object.fromEntries(Object.entries(rows).map(([list, map]) => [list, Math.max(...[...map.values()].map(r => Number(r.id))) + 1])) as Src['nextId'];
    const src: Src = {
      rows, nextId, round: 0,
      of: list => [...rows[list].values()],
      view: row => row,
      truth: row => row,
      address: () => null,
      answer: (_, normal) => normal(),
      before: () => undefined,
      now: () => clock.now(),
      add(list, patch = {}) {
        const model = [...rows[list].values()][7] as Row;
        const id = patch.id ?? nextId[list]++;
        const row = { ...structuredClone(model), id, ...(list === 'customers' ? { updated_at: new Date(clock.now()).toISOString(), created_at: new Date(clock.now()).toISOString(), account: `New ${id}` } : {}), ...(list === 'invoices' ? { invoice_number: `N-${id}`, date: new Date(clock.now()).toISOString().slice(0, 10) } : {}), ...(list === 'transactions' ? { description: `New ${id}`, date: new Date(clock.now()).toISOString().slice(0, 10) } : {}), ...patch };
        rows[list].set(String(id), row);
        return row;
      },
      remove(list, id) { rows[list].delete(String(id)); },
      edit(list, id, patch) {
        const row = rows[list].get(String(id));
        if (!row) return;
        Object.assign(row, list === 'customers' ? { updated_at: new Date(clock.now()).toISOString() } : {}, patch);
      },
      snapshot() {
        const copy = structuredClone(rows);
        return () => { for (const list of Object.keys(copy) as List[]) rows[list] = structuredClone(copy)[list]; };
      },
    };
    let nth = 0;
    let open = 0;
    const perList: Record<string, number> = {};
    kase.setup?.(src);
    const normal = (ask: Ask): ProxiedAnswer => {
      const { list, query } = ask;
      let shown = [...rows[list].values()].flatMap(row => { const seen = src.view(row, ask); return seen ? [seen] : []; });
      const number = (r: Row) => Number(r.id);
      const sorts: Record<string, (a: Row, b: Row) => number> = {
        'id-desc': (a, b) => number(b) - number(a),
        'id-asc': (a, b) => number(a) - number(b),
        shuffled: (a, b) => hash(number(a)) - hash(number(b)),
        'updated-desc': (a, b) => String(b.updated_at ?? b.date ?? '').localeCompare(String(a.updated_at ?? a.date ?? '')) || number(b) - number(a),
        'date-desc': (a, b) => String(b.date ?? b.created_at ?? '').localeCompare(String(a.date ?? a.created_at ?? '')) || number(b) - number(a),
      };
      shown.sort(sorts[mode.order]);
      if (mode.filters)
        for (const field of ['status', 'customer_id', 'type', 'account_id', 'department_id']) {
          const want = query.get(field);
          if (want !== null) shown = shown.filter(r => String(r[field]) === want);
        }
      if (mode.dates && (list === 'invoices' || list === 'transactions')) {
        const [from, to] = [query.get('date_from'), query.get('date_to')];
        if (from) shown = shown.filter(r => r.date && r.date >= from);
        if (to) shown = shown.filter(r => r.date && r.date <= to);
      }
      if (mode.paging === 'whole') return { status: 200, body: { success: true, data: shown } };
      const limit = Math.min(Number(query.get('limit') ?? 20) || 20, mode.max);
      const page = Number(query.get('page') ?? 1) || 1;
      const data = shown.slice((page - 1) * limit, page * limit);
      const meta = { current_page: page, total_pages: Math.max(1, Math.ceil(shown.length / limit)), total_records: shown.length };
      return { status: 200, body: { success: true, data, ...(mode.paging === 'meta' ? { meta } : {}) } };
    };
    const url = await openProxy(sandbox, (given, { path, query }) => {
      nth++;
      const [, list, id] = /^\/api\/v2\/(\w+)(?:\/(.+))?$/.exec(path) ?? [];
      if (!list || !(list in rows)) return given;
      if (process.env.REQ) log(`   req r${src.round} #${nth} ${path}?${query}`);
      if (process.env.DUMP && nth === Number(process.env.DUMP) && src.round > 0) void database.query<any>(`select resource, slice, proven_at, due_reason, rows from sluice.coverage order by 2`).then(({ rows: cov }) => { for (const c of cov) log(`   dump ${JSON.stringify(c)}`); });
      if (nth > 9000) throw new Error('RUNAWAY');
      perList[list] = (perList[list] ?? 0) + 1;
      const ask: Ask = { list: list as List, query, path, nth, round: src.round, now: clock.now() };
      src.before(ask);
      if (id !== undefined) {
        const own = src.address(id, ask);
        if (own) return own;
        const row = rows[list as List].get(id);
        return row ? { status: 200, body: { success: true, data: row } } : { status: 404, body: { success: false, message: 'Not found' } };
      }
      return src.answer(ask, () => normal(ask));
    });
    await database.query(`create table public.gone (tbl text, id text, n bigserial)`);
    await database.query(`create function public.note_gone() returns trigger language plpgsql as $$ begin insert into public.gone (tbl, id) values (tg_table_name, to_jsonb(old)->>'id'); return old; end $$`);
    for (const list of mode.lists) await database.query(`create trigger note_gone after delete on warehouse.${list} for each row execute function public.note_gone()`);
    const engine = await openEngine(database, { ...sandbox, url } as never, {
      clock, limit: 100_000, resources: mode.lists as never, wrapBudget: oneGrantAtATime(clock), lagMs: mode.lagMs,
    });
    let first = 0;
    const extraSince = new Map<string, number>();
    let goneSeen = 0; const incomplete: Record<string, number> = {};
    for (let round = 0; round < kase.rounds; round++) {
      src.round = round;
      if (round > 0) await clock.advance(kase.gap?.(round) ?? mode.gap);
      kase.step?.[round]?.(src);
      kase.each?.(src, round);
      nth = 0;
      for (const key of Object.keys(perList)) delete perList[key];
      const useTick = mode.drive === 'tick' ? round > 0 : mode.drive === 'both' ? round % 2 === 1 : false;
      const versions = Object.fromEntries(await Promise.all(mode.lists.map(async list => [list, JSON.stringify(src.of(list))])));
      let states: Record<string, string> = {};
      const started = Date.now();
      try {
        if (useTick) {
          await serveTick(engine, 30);
          const { rows: runs } = await database.query<any>(`select distinct on (resource) resource, state, error from (select r.*, to_jsonb(r)->>'error' as error from sluice.runs r) r order by resource, id desc`).catch(async () => ({ rows: [] as any[] }));
          for (const run of runs) states[run.resource] = `${run.state} ${run.error ?? ''}`;
        } else for (const order of await serveOrders(engine, 'sync', { whole: true, ...kase.accept?.[round] })) states[order.resource] = order.reason ?? order.state;
      } catch (error) {
        flags.push(`round ${round} THREW ${error instanceof Error ? error.message : error}`);
      }
      const requests = nth;
      if (round === 0) first = requests;
      const { rows: gone } = await database.query<{ tbl: List; id: string; n: string }>(`select * from public.gone where n > ${goneSeen} order by n`);
      goneSeen = Math.max(goneSeen, ...gone.map(g => Number(g.n)));
      const { rows: complete } = await database.query<{ resource: string; complete: boolean }>(`select resource, complete from sluice.complete('-infinity', 'infinity')`);
      const count = async (table: string) => Object.fromEntries((await database.query<{ resource: string; n: string }>(`select resource, count(*) as n from sluice.${table} group by 1`)).rows.map(r => [r.resource, r.n]));
      const [missing, held, losses] = [await count('missing'), await count('held'), await count('losses')];
      const { rows: rewrites } = await database.query<any>(`select resource, field, rows, stored, looks, ended_by from sluice.rewrites order by at`);
      for (const list of mode.lists) {
        const { rows: stored } = await database.query<{ row: Row }>(
          list === 'invoices'
            ? `select to_jsonb(t) || jsonb_build_object('items', (select coalesce(jsonb_agg(jsonb_build_array(i.description, i.amount, i.qty) order by i.line), '[]') from warehouse.invoice_items i where i.invoice_id = t.id)) as row from warehouse.invoices t`
            : `select to_jsonb(t) as row from warehouse.${list} t`,
        );
        const byId = new Map(stored.map(({ row }) => [String(row[KEY[list]]), row]));
        const isComplete = complete.find(c => c.resource === list)?.complete ?? false;
        const absent: string[] = [], stale: string[] = [], extra: string[] = [];
        const changedWithin = versions[list] !== JSON.stringify(src.of(list));
        let visible = 0;
        for (const [id, row] of rows[list]) {
          const truth = src.truth(row, list);
          if (truth === null) continue;
          visible++;
          const have = byId.get(String(truth.id));
          if (!have) { absent.push(id); continue; }
          const bad = FIELDS[list].filter(field => norm(field, have[field]) !== norm(field, truth[field]));
          if (list === 'invoices' && JSON.stringify((have.items as any[]).map(i => [i[0], Number(i[1]), Number(i[2])])) !== JSON.stringify((truth.items ?? []).map((i: any) => [i.description, Number(i.amount), Number(i.qty)]))) bad.push('items');
          if (bad.length) stale.push(`${id}.${bad.join('+')}`);
        }
        for (const id of byId.keys()) if (!rows[list].has(id)) extra.push(id);
        for (const key of [...extraSince.keys()]) if (key.startsWith(`${list} `) && !extra.includes(key.split(' ')[1] as string)) extraSince.delete(key);
        for (const id of extra) if (!extraSince.has(`${list} ${id}`)) extraSince.set(`${list} ${id}`, round);
        const liveGone = gone.filter(g => g.tbl === list && rows[list].has(g.id));
        const old = extra.filter(id => round - (extraSince.get(`${list} ${id}`) ?? round) >= 4);
        const mine: string[] = [];
        if (liveGone.length) mine.push(`LIVE DELETED ${liveGone.length} (${liveGone.slice(0, 5).map(g => g.id)})`);
        if (isComplete && absent.length && !changedWithin) mine.push(`ABSENT WHILE COMPLETE ${absent.length} (${absent.slice(0, 5)})`);
        if (isComplete && stale.length && !changedWithin) mine.push(`STALE WHILE COMPLETE ${stale.length} (${stale.slice(0, 3)}) held=${held[list] ?? 0}`);
        const saysHeld = /accept-deletes (\d+)/.exec(states[list] ?? '')?.[1]; if (old.length && !(saysHeld && Number(saysHeld) >= extra.length)) mine.push(`EXTRA LONG ${old.length} (${old.slice(0, 5)}) missing=${missing[list] ?? 0}`);
        if (!isComplete) { incomplete[list] = (incomplete[list] ?? 0) + 1; if (incomplete[list] >= 4) mine.push(`INCOMPLETE for ${incomplete[list]} rounds`); } else incomplete[list] = 0;
        if ((perList[list] ?? 0) > 40) mine.push(`MANY REQUESTS ${perList[list]}`);
        const s = states[list] ?? '?';
        const interesting = process.env.BRIEF ? mine.length : mine.length || absent.length || stale.length || extra.length || s !== 'done' || gone.some(g => g.tbl === list);
        if (interesting || process.env.ALL)
          log(`r${round} ${list.padEnd(12)} n=${visible}/${byId.size} req=${perList[list] ?? 0} ${isComplete ? 'complete' : 'INCOMPLETE'} absent=${absent.length} stale=${stale.length} extra=${extra.length} gone=${gone.filter(g => g.tbl === list).length} missing=${missing[list] ?? 0} held=${held[list] ?? 0} | ${s.replace(/\s+/g, ' ').slice(0, 110)}${mine.map(m => `\n      !! ${m}`).join('')}`);
        for (const m of mine) flags.push(`r${round} ${list} ${m}`);
      }
      if (requests > 6 * Math.max(first, 10)) flags.push(`r${round} MANY ${requests} requests (first ${first})`);
      const open = rewrites.filter(r => r.ended_by === null).map(r => `${r.resource}.${r.field} ${r.rows}/${r.stored} ${r.looks}`);
      if (!process.env.BRIEF || open.length) log(`r${round} -- requests=${requests} ${((Date.now() - started) / 1000).toFixed(1)}s rewrites=[${open}] ${Object.values(states).every(s => /^(done|complete)/.test(s)) ? 'all done' : ''}`);
    }
    const { rows: traits } = await database.query<any>(`select resource, trait, value from sluice.traits where trait not in ('page size','fields') and trait not like 'longest%' and trait not like 'days shown%' order by 1, 2`);
    if (kase.detail || process.env.TRAITS) log(`   traits ${traits.map((t: any) => `${t.resource}:${t.trait}=${t.value}`).join(' ')}`);
    if (process.env.COV) { const { rows: cov } = await database.query<any>(`select resource, slice, proven_at, due_since, due_reason from sluice.coverage where proven_at is null or due_since is not null`); for (const c of cov) log(`   cov ${JSON.stringify(c)}`); const { rows: ex } = await database.query<any>(`select resource, key, slice, since, readings from sluice.missing order by since limit 6`); for (const c of ex) log(`   missing ${JSON.stringify(c)}`); }
    await kase.end?.(database);
    await engine.close();
    await sandbox.close();
  });
  log(flags.length ? `### FLAGS ${kase.name} [${label}]: ${flags.length}\n    ${flags.slice(0, 12).join('\n    ')}` : `ok ${kase.name} [${label}]`);
}
