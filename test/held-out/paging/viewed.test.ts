import { test } from 'vitest';
import { type Case, idAsc, idDesc, play, type Source } from './harness.ts';
const cases: [string, Case][] = [];
const add = (c: Case) => cases.push([`${c.source.name} ${c.list} ${c.n} ${c.seed ?? 1}`, c]);
/** Sorted by last activity, which no field shows; until now nobody looked at an old row, so that it was the order of ids. Someone opens row `at` just after page 1 was answered. */
const lastView = (back: boolean): Source => ({
  name: `view-mid-sync${back ? '-desc' : '-asc'}`,
  order: (rows, a) => { const v: number[] = a.memo.get('views') ?? []; const d = back ? idDesc(rows) : idAsc(rows); const moved = v.flatMap(id => rows.find(r => r.id === id) ?? []); const rest = d.filter(r => !v.includes(r.id)); return back ? [...moved.reverse(), ...rest] : [...rest, ...moved]; },
  answer: (a, usual) => { const body = usual(); const arm = a.memo.get('arm'); if (arm && !a.filtered && body.data.some((r: any) => r.id === arm.after)) { a.memo.delete('arm'); a.memo.set('views', [...(a.memo.get('views') ?? []), arm.id]); } return body; },
});
for (const list of ['products', 'tickets', 'users', 'transactions', 'customers'])
  for (const back of [true, false])
    add({ source: lastView(back), list, n: 460, rounds: 6, script: (round, env) => {
      env.update(4, r => ({ [['message', 'description', 'city', 'email'].find(f => f in r) as string]: `e${round} ${env.rng()}` }));
      const r = env.rows(); if (round === 4) env.memo.set('arm', back ? { after: r.at(-1).id, id: r[150].id } : { after: r.at(-1).id, id: r[150].id });
    } });
/** total_pages one too many; floor(n / limit) + 1. */
for (const [name, pages] of [['ceil+1', (c: number, l: number) => Math.ceil(c / l) + 1], ['floor', (c: number, l: number) => Math.max(1, Math.floor(c / l))], ['floor+1', (c: number, l: number) => Math.floor(c / l) + 1]] as const)
  for (const list of ['products', 'transactions', 'users'])
    add({ source: { name: `pages-${name}`, pages }, list, n: name === 'floor+1' ? 200 : 230, rounds: 4, script: (round, env) => { env.update(2); if (round === 2) { env.insert(3); env.remove(2); env.remove(1, r => r.slice(0, 10)); } }, quiet: 8 });
for (const list of ['products', 'transactions'])
  add({ source: { name: 'service-pin', order: lastView(true).order as never }, list, n: 460, rounds: 5, ticks: 2, service: true, script: (round, env) => { env.update(3); const r = env.rows(); if (round >= 2) env.memo.set('views', [...(env.memo.get('views') ?? []), r[100 + round * 30].id]); } });
for (const back of [true, false]) add({ source: { ...lastView(back), name: `nometa-view-mid-sync${back ? '-desc' : '-asc'}`, meta: false }, list: 'products', n: 460, rounds: 6, script: (round, env) => { env.update(4); if (round < 4) env.insert(2); const r = env.rows(); if (round === 4) env.memo.set('arm', { after: r.at(-1).id, id: r[150].id }); } });
const only = process.env.CASES ? new RegExp(process.env.CASES) : /./;
test.each(cases.filter(([name]) => only.test(name)))('%s', async (_n, c) => { await play(c); }, 100_000);
