import { openSandbox, type Sandbox } from '../../sandbox/sandbox.ts';
import { parseVariants } from '../../sandbox/parse/parse-variants.ts';
import { openProxy } from '../conformance/tests/proxy.ts';
import { withDatabase } from '../support/database.ts';
import { oneGrantAtATime, openEngine, serveOrders, serveTick } from '../support/source.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { newMemory } from '../../src/engine/run/agenda.ts';
import { appendFileSync } from 'node:fs';

// biome-ignore lint/suspicious/noExplicitAny: a test
export type Row = any;
export interface Asked {
  rows: Row[]; // live, ascending id, unfiltered
  found: Row[]; // filtered and ordered
  list: string;
  query: URLSearchParams;
  filtered: boolean;
  key: string; // filter without page and limit
  page: number;
  wanted: number;
  now: number;
  nth: number;
  memo: Map<string, any>;
  rng: () => number;
}
export interface Source {
  name: string;
  order?: (rows: Row[], a: Asked) => Row[];
  limit?: (a: Asked) => number;
  count?: (a: Asked) => number;
  pages?: (count: number, limit: number, a: Asked) => number;
  offset?: (a: Asked, limit: number) => number;
  cut?: (a: Asked, limit: number) => Row[];
  meta?: boolean;
  answer?: (a: Asked, usual: () => any) => any;
  variants?: string;
}
export interface Env {
  sandbox: Sandbox; list: string; rng: () => number; memo: Map<string, any>;
  insert(k?: number): void; remove(k?: number, pick?: (rows: Row[]) => Row[]): void; update(k?: number, patch?: (r: Row) => any): void;
  rows(): Row[];
  look(url: string): Promise<void>;
}
export interface Case {
  source: Source; list: string; n: number; seed?: number; rounds?: number; gap?: number; lag?: number; ticks?: number; mid?: number;
  script?: (round: number, env: Env) => void | Promise<void>;
  quiet?: number; pageSize?: number; whole?: boolean; service?: boolean;
}
const FILTERS = ['status', 'type', 'customer_id', 'account_id', 'department_id'];
export const idDesc = (r: Row[]) => [...r].sort((a, b) => b.id - a.id);
export const idAsc = (r: Row[]) => [...r].sort((a, b) => a.id - b.id);
export const by = (f: (r: Row) => any, dir = 1) => (rows: Row[]) => [...rows].sort((a, b) => { const [x, y] = [f(a), f(b)]; return (x < y ? -1 : x > y ? 1 : b.id - a.id) * dir; });
export function rngOf(seed: number) { let s = seed * 2654435761 >>> 0 || 1; return () => { s ^= s << 13; s >>>= 0; s ^= s >>> 17; s ^= s << 5; s >>>= 0; return s / 2 ** 32; }; }
export const hash = (x: number, salt = 0) => { let h = Math.imul(x + 0x9e3779b9 + salt, 0x85ebca6b); h ^= h >>> 13; h = Math.imul(h, 0xc2b2ae35); return (h ^ (h >>> 16)) >>> 0; };
const out = (line: string) => { appendFileSync(process.env.HELD_OUT ?? '/tmp/held1.out', line + '\n'); };
export interface Verdict { problems: string[]; lines: string[] }

export async function play(c: Case, say = out): Promise<Verdict> {
  const { source: s, list, n, seed = 1, rounds = 6, gap = 3_600_000, lag = 60_000, ticks = 0, mid = 0, quiet = 4 } = c;
  const problems: string[] = []; const lines: string[] = [];
  const rng = rngOf(seed + 77);
  const memo = new Map<string, any>();
  const title = `${s.name} | ${list} n=${n} seed=${seed}`;
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const sandbox = await openSandbox({ seed, size: { customers: list === 'customers' ? n : 40, invoices: list === 'invoices' ? n : 10, transactions: list === 'transactions' ? n : 10 }, rateLimit: 0, clock, variants: parseVariants(s.variants ?? '') });
    const changed = new Map<string, number>(); // id -> time of last change
    const removedAt = new Map<string, number>();
    const rows = (): Row[] => [...sandbox.rows(list as never)] as Row[];
    let serial = 0;
    const env: Env = {
      sandbox, list, rng, memo, rows,
      insert(k = 1) { for (let i = 0; i < k; i++) { const all = templates; const like = all[Math.floor(rng() * all.length)]; const extra: Row = {}; serial++; for (const f of ['account', 'name', 'subject', 'description']) if (f in like) extra[f] = `${String.fromCharCode(65 + Math.floor(rng() * 26))} new ${serial}`; const r = sandbox.insert(list as never, { ...like, ...extra, id: undefined } as never) as Row; changed.set(String(r.id), clock.now()); } },
      remove(k = 1, pick = r => r) { for (let i = 0; i < k; i++) { const all = pick(rows()); if (all.length === 0) return; const r = all[Math.floor(rng() * all.length)]; sandbox.remove(list as never, r.id); removedAt.set(String(r.id), clock.now()); } },
      update(k = 1, patch) { for (let i = 0; i < k; i++) { const all = rows(); const r = all[Math.floor(rng() * all.length)]; serial++; const field = ['notes', 'message', 'city', 'description', 'email'].find(f => f in r) as string; sandbox.update(list as never, r.id, (patch ? patch(r) : { [field]: `edit ${serial}` }) as never); changed.set(String(r.id), clock.now()); } },
      async look(url) { await fetch(proxyUrl + url, { headers: { authorization: `Bearer ${sandbox.apiKey}` } }); },
    };
    const templates = rows();
    while (rows().length < n) env.insert();
    while (rows().length > n) env.remove(1, r => r.slice(-1));
    let requests = 0; let midOn = false;
    const log: string[] = [];
    const proxyUrl = await openProxy(sandbox, (given, { method, path, query }) => {
      requests++;
      if (midOn && mid > 0 && rng() < mid) { const x = rng(); if (x < 0.35) env.insert(); else if (x < 0.7) env.remove(); else env.update(); }
      if (method !== 'GET' || path !== `/api/v2/${list}`) { if (path.startsWith(`/api/v2/${list}/`) ) { log.push(`${path} ${given.status}`); } return given; }
      const live = rows();
      let found = live;
      for (const f of FILTERS) if (query.has(f) && live.some(r => f in r)) found = found.filter(r => String(r[f]) === query.get(f));
      if (list === 'invoices' || list === 'transactions') {
        const [from, to] = [query.get('date_from'), query.get('date_to')];
        if (from) found = found.filter(r => r.date !== null && r.date >= from);
        if (to) found = found.filter(r => r.date !== null && r.date <= to);
      }
      const filtered = [...FILTERS, 'date_from', 'date_to'].some(f => query.has(f));
      const key = [...query].filter(([k]) => k !== 'page' && k !== 'limit').map(p => p.join('=')).sort().join('&');
      const a: Asked = { rows: live, found, list, query, filtered, key, page: Math.max(Number(query.get('page') ?? 1), 1), wanted: Number(query.get('limit') ?? 20), now: clock.now(), nth: requests, memo, rng };
      a.found = (s.order ?? idDesc)(found, a);
      const usual = () => {
        const limit = s.limit ? s.limit(a) : Math.min(a.wanted, 100);
        const count = s.count ? s.count(a) : a.found.length;
        const at = s.offset ? s.offset(a, limit) : (a.page - 1) * limit;
        const data = s.cut ? s.cut(a, limit) : a.found.slice(at, at + limit);
        const total_pages = s.pages ? s.pages(count, limit, a) : Math.max(1, Math.ceil(count / limit));
        return { success: true, data, ...(s.meta === false ? {} : { meta: { current_page: a.page, total_pages, total_records: count } }) };
      };
      const body = s.answer ? s.answer(a, usual) : usual();
      log.push(`${[...query].map(p => p.join('=')).join('&')} -> ${body.data?.length} ${body.data?.[0]?.id}..${body.data?.at?.(-1)?.id} ${body.meta ? `${body.meta.total_records}/${body.meta.total_pages}` : ''}`);
      return { status: 200, body };
    });
    const engine = await openEngine(database, { ...sandbox, url: proxyUrl } as Sandbox, { clock, lagMs: lag, wrapBudget: oneGrantAtATime(clock), limit: 100_000, resources: [list as never], ...(c.pageSize ? { pageSize: c.pageSize } : {}) });
    await database.query(`create table if not exists public.dels (key text, at timestamptz)`);
    await database.query(`create or replace function public.ondel() returns trigger language plpgsql as $$ begin if new.ended_by = 'deleted' then insert into public.dels values (new.key, sluice.now()); end if; return new; end $$`);
    await database.query(`create trigger ondel after insert on warehouse.row_history for each row execute function public.ondel()`);
    const reported = new Set<string>();
    const goneFor = new Map<string, number>();
    const memory = newMemory();
    let most = 0;
    const check = async (round: number, what: string, state: string) => {
      const dels = (await database.query<{ key: string; at: Date }>('select key, at from public.dels')).rows;
      const live = new Map(rows().map(r => [String(r.id), r]));
      const wrong = dels.filter(d => (live.has(d.key) || (removedAt.get(d.key) ?? Infinity) > +new Date(d.at)) && !reported.has(`${d.key} ${+new Date(d.at)}`));
      for (const d of wrong) reported.add(`${d.key} ${+new Date(d.at)}`);
      const key = 'id';
      const stored = new Map((await database.query<{ row: Row }>(`select to_jsonb(t) as row from warehouse.${list} t`)).rows.map(({ row }) => [String(row[key]), row]));
      const cov = (await database.query<{ complete: boolean; as_of: Date | null }>(`select complete, as_of from sluice.complete('-infinity','infinity') where resource = $1`, [list])).rows[0];
      const asOf = cov?.as_of ? +new Date(cov.as_of) : 0;
      const allowed = lag; // answers may be that old
      const absent = [...live.keys()].filter(id => !stored.has(id) && (changed.get(id) ?? 0) < asOf - allowed);
      const stale = [...live].filter(([id, r]) => { const st = stored.get(id); if (!st || (changed.get(id) ?? 0) >= asOf - allowed) return false; return ['account', 'name', 'subject', 'description', 'message', 'city', 'notes', 'status', 'date', 'priority', 'type', 'email'].some(f => f in r && f in st && String(r[f] ?? '') !== String(st[f] ?? '')); }).map(([id]) => id);
      const extra = [...stored.keys()].filter(id => !live.has(id));
      for (const id of extra) goneFor.set(id, (goneFor.get(id) ?? 0) + 1);
      const held = Math.max(0, ...extra.map(id => goneFor.get(id) ?? 0));
      const traits = (await database.query<{ t: string }>(`select string_agg(trait || '=' || case when trait='end' then (value::jsonb->>'verdict') || '@' || (value::jsonb->>'rows') else left(value,30) end, ' ' order by trait) t from sluice.traits where resource = $1 and trait in ('order','counts','end','paging','page size','limit','edits','most accepted','one answer','left out','undated','date filter','address','not ordered by') or trait like 'filter %'`, [list])).rows[0]?.t;
      const complete = cov?.complete ?? null;
      const bad: string[] = [];
      if (wrong.length) bad.push(`DELETED-LIVE ${wrong.length} [${wrong.slice(0, 6).map(d => d.key)}]`);
      if (complete && absent.length) bad.push(`ABSENT ${absent.length} [${absent.slice(0, 5)}]`);
      if (complete && stale.length) bad.push(`STALE ${stale.length} [${stale.slice(0, 5)}]`);
      if (what === 'sync' && held > 5) bad.push(`KEPT-GONE ${held} syncs`);
      const needed = Math.ceil(live.size / 20);
      if (what === 'sync' && round > 4 && requests > 12 * needed + 60) bad.push(`REQUESTS ${requests}`);
      most = Math.max(most, requests);
      lines.push(`  r${round} ${what} live=${live.size} stored=${stored.size} extra=${extra.length} req=${requests} complete=${complete} ${state.slice(0, 150)} {${traits}} ${bad.join(' ! ')}`);
      for (const b of bad) problems.push(`r${round} ${what}: ${b}`);
      if (process.env.HELD_LOG && bad.some(b => b.startsWith(process.env.HELD_LOG as string))) lines.push(...log.map(l => '      ' + l));
      requests = 0; log.length = 0;
    };
    const one = async (round: number) => {
      await clock.advance(gap);
      await c.script?.(round, env);
      for (let t = 0; t < ticks; t++) { midOn = true; await serveTick(engine, 4, memory); midOn = false; await check(round, 'tick', ''); await clock.advance(900_000); }
      if (c.service) return;
      midOn = true;
      const ended = await Promise.race([serveOrders(engine, 'sync', { whole: c.whole ?? true }), new Promise<null>(r => setTimeout(() => r(null), 90_000))]);
      midOn = false;
      if (ended === null) { problems.push(`r${round} NEVER ENDED, ${requests} requests`); throw new Error('never ended'); }
      await check(round, 'sync', ended.map(o => o.reason ?? o.state).join());
    };
    try {
      for (let round = 0; round < rounds; round++) await one(round);
      const script = c.script; c = { ...c, script: undefined as never, mid: 0, ticks: 0, service: false };
      void script;
      for (let q = 0; q < quiet; q++) {
        await clock.advance(Math.max(gap, 3_700_000));
        const ended = await serveOrders(engine, 'sync', { whole: true });
        await check(rounds + q, 'quiet', ended.map(o => o.reason ?? o.state).join());
      }
      const last = lines.filter(l => l.startsWith('  r')).at(-1) as string;
      if (!/complete=true/.test(last)) problems.push(`not complete after ${quiet} quiet syncs`);
      const [, live, stored] = /live=(\d+) stored=(\d+)/.exec(last) as RegExpExecArray;
      if (live !== stored) problems.push(`live ${live} stored ${stored} after ${quiet} quiet syncs`);
    } catch (e) { problems.push(`THREW ${(e as Error).message}`); }
    await engine.close(); await sandbox.close();
  });
  say(`${problems.length ? '!!' : 'ok'} ${title} ${problems.slice(0, 4).join(' ; ')}`);
  if (problems.length || process.env.HELD_ALL) for (const l of lines) say(l);
  return { problems, lines };
}
