import { test } from 'vitest';
import { by, type Case, hash, idAsc, idDesc, play, type Source } from './harness.ts';

const churn = (i: number, d: number, u: number): NonNullable<Case['script']> => (round, env) => { if (round === 0) return; env.insert(i); env.remove(d); env.update(u); };
const cachedCount = (ttl: number): Source['count'] => a => {
  const hit = a.memo.get(`c ${a.key}`);
  if (hit && a.now - hit.at < ttl) return hit.n;
  a.memo.set(`c ${a.key}`, { at: a.now, n: a.found.length }); return a.found.length;
};
/** Deleted rows keep their place in pages until the night. */
const gaps = (order: (r: any[]) => any[]): Partial<Source> => ({
  order: (rows, a) => {
    const all: Map<number, any> = a.memo.get('all') ?? new Map(); a.memo.set('all', all);
    for (const r of a.rows) all.set(r.id, r);
    const day = Math.floor(a.now / 86_400_000);
    if (a.memo.get('day') !== day) { a.memo.set('day', day); const live = new Set(a.rows.map(r => r.id)); for (const id of [...all.keys()]) if (!live.has(id)) all.delete(id); }
    return order(rows);
  },
  cut: (a, limit) => {
    if (a.filtered) return a.found.slice((a.page - 1) * limit, a.page * limit);
    const all = order([...(a.memo.get('all') as Map<number, any>).values()]);
    const live = new Map(a.found.map(r => [r.id, r]));
    return all.slice((a.page - 1) * limit, a.page * limit).flatMap(r => live.get(r.id) ?? []);
  },
});
const cases: [string, Case][] = [];
const add = (c: Case) => cases.push([`${c.source.name} ${c.list} ${c.n} ${c.seed ?? 1}`, c]);
// H
for (const list of ['products', 'tickets', 'transactions', 'users', 'customers'])
  for (const [on, o] of [['desc', idDesc], ['asc', idAsc]] as const)
    add({ source: { name: `gaps-${on}`, ...gaps(o) }, list, n: 203, rounds: 6, script: (round, env) => { if (round === 3) { const r = o(env.rows()); for (const x of [...r.slice(20, 25), ...r.slice(120, 128)]) env.remove(1, () => [x]); } } });
// E stale count at multiple of page size
for (const list of ['products', 'tickets', 'transactions', 'users', 'customers', 'invoices'])
  for (const [on, o] of [['desc', idDesc], ['asc', idAsc], ['name', by(r => r.name ?? r.subject ?? r.account ?? r.description ?? r.notes ?? '')], ['date', by(r => r.date ?? r.priority ?? r.city ?? r.id, -1)], ['shuffled', by(r => hash(r.id))]] as const)
    add({ source: { name: `stalecount-${on}`, order: o, count: cachedCount(7_200_000) }, list, n: 198, rounds: 7, gap: 600_000, script: async (round, env) => {
      if (round === 3) { env.memo.clear(); env.insert(2); for (const q of ['', '&date_from=1950-01-01', '&date_to=1949-12-31']) await env.look(`/api/v2/${list}?page=1&limit=100${q}`.replace('page=1&limit=100&', '')); env.insert(3); }
    } });
// wrap, overlaps, etc., with churn
const wrap: Source['offset'] = (a, limit) => ((a.page - 1) % Math.max(1, Math.ceil(a.found.length / limit))) * limit;
const more: Source[] = [
  { name: 'wrap-nometa', meta: false, offset: wrap },
  { name: 'wrap-meta', offset: wrap },
  { name: 'pages+1', pages: (c, l) => Math.ceil(c / l) + 1 },
  { name: 'pages-1', pages: (c, l) => Math.max(1, Math.floor(c / l)) },
  { name: 'pages-1-ceil', pages: (c, l) => Math.max(1, Math.ceil(c / l) - 1) },
  { name: 'overlap2', offset: (a, l) => (a.page - 1) * (l - 2), pages: (c, l) => Math.max(1, Math.ceil((c - 2) / (l - 2))) },
  { name: 'overlap2-nometa', meta: false, offset: (a, l) => (a.page - 1) * (l - 2) },
  { name: 'flip-by-limit', order: (r, a) => (a.wanted >= 100 ? idDesc(r) : idAsc(r)) },
  { name: 'flip-by-filter', order: (r, a) => (a.filtered ? idAsc(r) : idDesc(r)) },
  { name: 'cap-by-filter', limit: a => Math.min(a.wanted, a.filtered ? 25 : 500) },
  { name: 'cap-by-filter2', limit: a => Math.min(a.wanted, a.filtered ? 500 : 50) },
  { name: 'cap-by-filter-nometa', meta: false, limit: a => Math.min(a.wanted, a.filtered ? 25 : 500) },
  { name: 'ties-random', order: (r, a) => by(x => `${x.status ?? x.type ?? x.role ?? x.city ?? ''} ${hash(x.id, a.nth)}`)(r) },
  { name: 'ties-random-nometa', meta: false, order: (r, a) => by(x => `${x.status ?? x.type ?? x.role ?? x.city ?? ''} ${hash(x.id, a.nth)}`)(r) },
  { name: 'mine-first', order: r => { const d = idDesc(r); return [...d.filter(x => hash(x.id) % 29 === 0), ...d.filter(x => hash(x.id) % 29 !== 0)]; } },
  { name: 'count-lag-minute', count: cachedCount(60_000) },
  { name: 'count-items', count: a => a.found.reduce((n, r) => n + Math.max(1, r.items?.length ?? (r.id % 3) + 1), 0) },
  { name: 'count-other', count: a => a.found.length + 40 },
];
for (const source of more) for (const list of ['tickets', 'transactions', 'customers', 'invoices'])
  for (const [mid, seed] of [[0, 1], [0.15, 2]] as const) add({ source, list, n: 230, seed, mid, rounds: 6, script: churn(3, 3, 4) });

const only = process.env.CASES ? new RegExp(process.env.CASES) : /./;
test.each(cases.filter(([name]) => only.test(name)))('%s', async (_n, c) => { await play(c); }, 280_000);
