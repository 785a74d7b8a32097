import { test } from 'vitest';
import { by, type Case, hash, idAsc, idDesc, play, type Source } from './harness.ts';
const cases: [string, Case][] = [];
const add = (c: Case) => cases.push([`${c.source.name} ${c.list} ${c.n} ${c.seed ?? 1}`, c]);
/** The count lags by less than SOURCE_LAG_SECONDS: cached for a minute by the answer that asked first. */
const cachedCount = (ttl: number): Source['count'] => a => {
  const hit = a.memo.get(`c ${a.key}`);
  if (hit && a.now - hit.at < ttl) return hit.n;
  a.memo.set(`c ${a.key}`, { at: a.now, n: a.found.length }); return a.found.length;
};
// pinned later: rows move to the top by a field that is not shown, while the service ticks
const pinned = (o: (r: any[]) => any[]): Source['order'] => (rows, a) => { const p: Set<number> = a.memo.get('pins') ?? new Set(); const d = o(rows); return [...d.filter(r => p.has(r.id)), ...d.filter(r => !p.has(r.id))]; };
for (const list of ['products', 'tickets', 'transactions', 'users'])
  for (const [on, o] of [['desc', idDesc], ['asc', idAsc]] as const)
    for (const service of [true, false])
      add({ source: { name: `pinned-later-${on}${service ? '-service' : ''}`, order: pinned(o) }, list, n: 460, rounds: 7, ticks: service ? 4 : 0, service, script: (round, env) => {
        env.update(2);
        if (round >= 3) { const p: Set<number> = env.memo.get('pins') ?? new Set(); env.memo.set('pins', p); const r = env.rows(); p.add(r[Math.floor(env.rng() * r.length)].id); }
      } });
// last view: rows move to the top all the time, also between requests
const viewed: Source['order'] = (rows, a) => {
  const at: Map<number, number> = a.memo.get('views') ?? new Map(); a.memo.set('views', at);
  if (a.memo.get('viewing')) for (let k = 0; k < 1; k++) if (a.rng() < 0.4) { const r = a.rows[Math.floor(a.rng() * a.rows.length)]; if (r) at.set(r.id, a.nth + 1e6); }
  return [...rows].sort((x, y) => (at.get(y.id) ?? 0) - (at.get(x.id) ?? 0) || y.id - x.id);
};
for (const list of ['tickets', 'transactions', 'customers', 'products'])
  for (const meta of [true, false])
    add({ source: { name: `viewed${meta ? '' : '-nometa'}`, order: viewed, meta }, list, n: 460, rounds: 7, script: (round, env) => { env.memo.set('viewing', true); if (round > 1) { env.insert(2); env.remove(2); env.update(2); } } });
// pages each cached for their own age
const pageCache = (ttl: (page: number) => number): Source['answer'] => (a, usual) => {
  const k = `p ${a.query.toString()}`; const hit = a.memo.get(k);
  if (hit && a.now - hit.at < ttl(a.page)) return hit.body;
  const body = structuredClone(usual()); a.memo.set(k, { at: a.now, body }); return body;
};
for (const list of ['products', 'transactions', 'customers', 'tickets'])
  for (const [on, o] of [['desc', idDesc], ['asc', idAsc], ['shuffled', by(r => hash(r.id))]] as const)
    for (const [what, ttl] of [['first-5m', (p: number) => (p === 1 ? 300_000 : 0)], ['later-5m', (p: number) => (p === 1 ? 0 : 300_000)], ['each-55s', () => 55_000]] as const)
      add({ source: { name: `cache-${what}-${on}`, order: o, answer: pageCache(ttl) }, list, n: 230, rounds: 7, gap: 600_000, script: async (round, env) => {
        if (round < 2) return;
        for (const p of [1, 2, 3]) await env.look(`/api/v2/${list}?page=${p}&limit=${list === 'x' ? 1 : 100}`);
        const first = (r: any[]) => o(r).slice(0, 90);
        env.insert(3); env.remove(3, first); env.remove(1); env.update(2);
      } });
// wide rows: the effective limit depends on bytes
const bytes: Source['limit'] = a => Math.max(10, Math.min(a.wanted, 100, Math.floor(20_000 / (JSON.stringify(a.found).length / Math.max(a.found.length, 1) + 1))));
for (const list of ['tickets', 'transactions', 'customers', 'invoices']) for (const meta of [true, false])
  add({ source: { name: `bytes${meta ? '' : '-nometa'}`, limit: bytes, meta }, list, n: 230, rounds: 6, mid: 0.1, script: (_r, env) => { env.insert(3); env.remove(3); env.update(8, r => ({ [['notes', 'message', 'city', 'description'].find(f => f in r) as string]: 'x'.repeat(Math.floor(env.rng() * 900)) })); } });
// created order: imports get high ids but old places
const created: Source['order'] = (rows, a) => { const at: Map<number, number> = a.memo.get('at') ?? new Map(); a.memo.set('at', at); for (const r of a.rows) if (!at.has(r.id)) at.set(r.id, a.memo.get('import') ? -r.id : r.id); return [...rows].sort((x, y) => (at.get(y.id) as number) - (at.get(x.id) as number)); };
for (const list of ['tickets', 'transactions', 'products', 'users', 'invoices'])
  for (const service of [true, false])
    add({ source: { name: `imported${service ? '-service' : ''}`, order: created }, list, n: 400, rounds: 6, ticks: service ? 3 : 0, service, script: (round, env) => { env.update(2); if (round === 3) { env.memo.set('import', true); env.insert(120); } if (round > 3) { env.memo.set('import', round % 2 === 0); env.insert(2); env.remove(2); } } });
// gaps, with random churn, different limits, until the night
const gaps = (order: (r: any[]) => any[], live: boolean): Partial<Source> => {
  const all = (a: any) => { const m: Map<number, any> = a.memo.get('all') ?? new Map(); a.memo.set('all', m); return m; };
  return {
    order: (rows, a) => { const m = all(a); for (const r of a.rows) m.set(r.id, r); const day = Math.floor(a.now / 86_400_000); if (a.memo.get('day') !== day) { a.memo.set('day', day); const ids = new Set(a.rows.map(r => r.id)); for (const id of [...m.keys()]) if (!ids.has(id)) m.delete(id); } return order(rows); },
    count: a => (a.filtered || live ? a.found.length : all(a).size),
    cut: (a, limit) => { if (a.filtered) return a.found.slice((a.page - 1) * limit, a.page * limit); const ids = new Map(a.found.map(r => [r.id, r])); return order([...all(a).values()]).slice((a.page - 1) * limit, a.page * limit).flatMap(r => ids.get(r.id) ?? []); },
  };
};
for (const list of ['products', 'tickets', 'transactions', 'customers'])
  for (const [on, o] of [['desc', idDesc], ['asc', idAsc], ['shuffled', by(r => hash(r.id))]] as const)
    for (const live of [true, false])
      for (const max of [100, 20])
        add({ source: { name: `gapchurn-${on}${live ? '' : '-allcount'}-${max}`, ...gaps(o, live), limit: a => (max === 20 ? 20 : Math.min(a.wanted, 100)) }, list, n: 203, rounds: 7, script: (round, env) => { if (round > 1) { env.remove(4); env.insert(1); } } });
const only = process.env.CASES ? new RegExp(process.env.CASES) : /./;
test.each(cases.filter(([name]) => only.test(name)))('%s', async (_n, c) => { await play(c); }, 280_000);
