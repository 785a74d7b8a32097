import { test } from 'vitest';
import { type Case, type Mode, play, type Row, type Src } from './model.ts';

const DAY = 86_400_000, HOUR = 3_600_000;
const MODES: Record<string, Mode> = {
  desc: {},
  asc: { order: 'id-asc' },
  shuffled: { order: 'shuffled' },
  whole: { paging: 'whole' },
  wholeshuf: { paging: 'whole', order: 'shuffled' },
  nometa: { paging: 'no-meta' },
  nofilter: { filters: false, dates: false },
  updated: { order: 'updated-desc' },
  tick: { drive: 'tick' },
  both: { drive: 'both', order: 'shuffled' },
};
const ALL = ['customers', 'invoices', 'transactions', 'tickets'] as const;
const hide = (src: Src, from: number, to: number, is: (row: Row) => boolean, lists: readonly string[] = ALL, address = true) => {
  src.view = (row, { round, list }) => (round >= from && round < to && lists.includes(list) && is(row) ? null : row);
  src.truth = (row, list) => (src.round >= from && src.round < to && lists.includes(list) && is(row) ? null : row);
  if (address) src.address = (id, { round }) => (round >= from && round < to && lists.includes('customers') && is({ id: Number(id) }) ? { status: 404, body: { success: false, message: 'Not found' } } : null);
};

const CASES: Case[] = [
  { name: 'permission hides every tenth for three readings, addresses too', rounds: 8, setup: s => hide(s, 2, 5, r => Number(r.id) % 10 === 3) },
  { name: 'permission hides every tenth for two days, addresses too', rounds: 9, setup: s => hide(s, 2, 6, r => Number(r.id) % 10 === 3), gap: () => 12 * HOUR },
  { name: 'permission hides half for three readings', rounds: 9, setup: s => hide(s, 2, 5, r => Number(r.id) % 2 === 0), gap: () => 5 * HOUR },
  { name: 'permission hides half for two days', rounds: 10, setup: s => hide(s, 2, 7, r => Number(r.id) % 2 === 0), gap: () => 12 * HOUR },
  { name: 'permission hides all for two days', rounds: 10, setup: s => hide(s, 2, 7, () => true), gap: () => 12 * HOUR },
  { name: 'list empty for an hour with total 0', rounds: 6, setup: s => hide(s, 2, 4, () => true, ALL, false), gap: () => HOUR / 2 },
  {
    name: 'maintenance page data [] without meta for 3 rounds', rounds: 8,
    setup: s => { s.answer = (ask, normal) => (ask.round >= 2 && ask.round < 5 ? { status: 200, body: { success: true, data: [] } } : normal()); },
  },
  {
    name: 'maintenance page from the middle of a sync', rounds: 7,
    setup: s => { s.answer = (ask, normal) => (ask.round === 2 && ask.nth > 4 ? { status: 200, body: { success: true, data: [] } } : normal()); },
  },
  {
    name: 'ids renumbered plus a million', rounds: 8,
    step: { 2: s => { for (const list of ALL) { const all = s.of(list); s.rows[list].clear(); for (const row of all) { row.id = Number(row.id) + 1_000_000; s.rows[list].set(String(row.id), row); } } } },
    gap: () => 13 * HOUR,
  },
  {
    name: 'two records swap ids', rounds: 5,
    step: { 2: s => { for (const list of ALL) { const [a, b] = [s.of(list)[5] as Row, s.of(list)[40] as Row]; const [x, y] = [a.id, b.id]; a.id = y; b.id = x; s.rows[list].set(String(y), a); s.rows[list].set(String(x), b); } } },
  },
  {
    name: 'negative and zero ids', rounds: 6,
    step: { 2: s => { for (const list of ALL) { s.add(list, { id: 0 }); s.add(list, { id: -7 }); s.add(list, { id: -8 }); } }, 4: s => { for (const list of ALL) { s.remove(list, -7); s.remove(list, 0); } } },
  },
  {
    name: 'ids become text and back', rounds: 6,
    setup: s => { s.view = (row, { round }) => (round === 2 || round === 3 ? { ...row, id: String(row.id) } : row); },
  },
  {
    name: 'bulk deletion of 15 in the middle of a sync', rounds: 8,
    setup: s => { let did = false; s.before = ask => { if (ask.round !== 2 || ask.nth < 5 || did) return; did = true; for (const list of ALL) for (const row of s.of(list).slice(10, 25)) s.remove(list, row.id); }; },
  },
  {
    name: 'bulk deletion of 40 in the middle of a sync', rounds: 8, gap: () => 6 * HOUR,
    setup: s => { let did = false; s.before = ask => { if (ask.round !== 2 || ask.nth < 5 || did) return; did = true; for (const list of ALL) for (const row of s.of(list).slice(10, 50)) s.remove(list, row.id); }; },
  },
  {
    name: 'deletion and insert that keep the count', rounds: 8,
    each: (s, round) => { if (round > 0 && round < 5) for (const list of ALL) { s.remove(list, s.of(list)[20 + round]?.id); s.add(list); } },
  },
  {
    name: 'deletion and insert between two requests of one sync', rounds: 9,
    setup: s => { s.before = ask => { if (ask.round < 2 || ask.round > 5 || ask.nth % 3 !== 0) return; for (const list of ALL) { const all = s.of(list); s.remove(list, all[(ask.nth * 7) % all.length]?.id); s.add(list); } }; },
  },
  {
    name: 'restore from yesterday', rounds: 9,
    setup: s => { let back = () => {}; (s as any).take = () => { back = s.snapshot(); }; (s as any).back = () => back(); },
    step: {
      1: s => (s as any).take(),
      2: s => { for (const list of ALL) { for (let i = 0; i < 12; i++) s.add(list); for (const row of s.of(list).slice(3, 9)) s.edit(list, row.id, list === 'customers' ? { city: 'Edited' } : list === 'invoices' ? { notes: 'Edited' } : list === 'transactions' ? { description: 'Edited' } : { subject: 'Edited' }); for (const row of s.of(list).slice(20, 24)) s.remove(list, row.id); } },
      4: s => { (s as any).back(); for (const list of ALL) { s.nextId[list] -= 12; for (let i = 0; i < 5; i++) s.add(list, list === 'customers' ? { account: `Second ${i}` } : list === 'invoices' ? { notes: `Second ${i}` } : list === 'transactions' ? { description: `Second ${i}` } : { subject: `Second ${i}` }); } },
    },
  },
];

const NOT = (status: number, body: unknown = { success: false, message: 'Not found' }) => ({ status, body });
const txt: Record<string, string> = { customers: 'city', invoices: 'notes', transactions: 'description', tickets: 'subject' };
const cust = (n: number) => ({ size: { customers: n, invoices: 240, transactions: 20 } });
const addr = (name: string, says: (id: string, src: Src) => any): Case => ({
  name: `deleted address ${name}`, rounds: 9, mode: { lists: ['customers'] },
  setup: s => { s.address = id => (s.rows.customers.has(id) ? null : says(id, s)); },
  step: { 1: s => { for (const r of s.of('customers').slice(30, 33)) s.remove('customers', r.id); }, 3: s => { for (const r of s.of('customers').slice(50, 52)) s.remove('customers', r.id); } },
});
CASES.push(
  { name: 'W list hides 60 of 1200 customers for two syncs, addresses show them', rounds: 6, detail: true, mode: { lists: ['customers'], lagMs: 60_000, size: { customers: 1200, invoices: 20, transactions: 20 } },
    setup: s => hide(s, 2, 4, r => Number(r.id) % 20 === 4, ['customers'], false) },
  { name: 'W a fifth of 1200 invoices of a year ago archived out of the list alone', rounds: 6, mode: { lists: ['invoices'], size: { customers: 400, invoices: 1200, transactions: 20 } },
    setup: s => { const old = (r: Row) => r.date < '2025-01-01' && Number(r.id) % 5 === 0; s.view = (r, { query, round }) => (round >= 2 && old(r) && !query.has('customer_id') ? null : r); s.truth = r => (s.round >= 2 && old(r) ? null : r); } },
  ...[[120, 60_000, 12], [420, 60_000, 12], [420, 60_000, 3], [120, 60_000, 1]].map(([n, lag, k]): Case => ({
    name: `Y list index hides ${k} of ${n} customers for one sync, addresses show them, lag ${lag}`, rounds: 6, detail: true, mode: { lists: ['customers'], lagMs: lag, size: { customers: n, invoices: 20, transactions: 20 } },
    setup: s => hide(s, 2, 3, r => Number(r.id) % 9 === 4 && Number(r.id) < 9 * k + 4, ['customers'], false),
  })),
  { name: 'Z prefixed ids of 240 invoices', rounds: 4, mode: { lists: ['invoices'] }, setup: s => { s.view = (r, { round }) => (round === 2 ? { ...r, id: `X-${r.id}` } : r); } },
  ...(['invoices', 'transactions', 'customers', 'tickets'] as const).flatMap((list): Case[] => [
    { name: `Q prefixed ids of ${list}`, rounds: 6, mode: { lists: [list], size: { customers: 60, invoices: 60, transactions: 60 } }, setup: s => { s.view = (r, { round }) => (round === 2 || round === 3 ? { ...r, id: `X-${r.id}` } : r); } },
    { name: `Q id renamed in ${list}`, rounds: 6, mode: { lists: [list], size: { customers: 60, invoices: 60, transactions: 60 } }, setup: s => { s.view = (r, { round }) => { if (round !== 2 && round !== 3) return r; const { id, ...rest } = r; return { ...rest, [`${list.slice(0, -1)}_id`]: id }; }; } },
  ]),
  addr('403 with the documented words', () => NOT(403, { success: false, message: 'Invalid API key or unauthorized access' })),
  addr('200 with the documented words', () => NOT(200, { success: false, message: 'Invalid API key or unauthorized access' })),
  addr('400 with the documented words', () => NOT(400, { success: false, message: 'Invalid API key or unauthorized access' })),
  { name: 'customer list 401 of a deleted customer', rounds: 6, mode: { lists: ['customers', 'invoices'] }, setup: s => { s.answer = (ask, normal) => { const c = ask.query.get('customer_id'); return c && !s.rows.customers.has(c) ? NOT(401, { success: false, message: 'Unauthorized access' }) : normal(); }; }, step: { 2: s => { const c = s.of('customers').find(c => s.of('invoices').some(i => i.customer_id === c.id)) as Row; s.remove('customers', c.id); for (const i of s.of('invoices')) if (i.customer_id === c.id) s.remove('invoices', i.id); } } },
  { name: 'customer list 200 unauthorized of a deleted customer', rounds: 6, mode: { lists: ['customers', 'invoices'] }, setup: s => { s.answer = (ask, normal) => { const c = ask.query.get('customer_id'); return c && !s.rows.customers.has(c) ? NOT(200, { success: false, message: 'Invalid API key or unauthorized access' }) : normal(); }; }, step: { 2: s => { const c = s.of('customers').find(c => s.of('invoices').some(i => i.customer_id === c.id)) as Row; s.remove('customers', c.id); for (const i of s.of('invoices')) if (i.customer_id === c.id) s.remove('invoices', i.id); } } },
  addr('410', () => NOT(410)),
  addr('403', () => NOT(403)),
  addr('301', () => NOT(301, {})),
  addr('401', () => NOT(401)),
  addr('400', () => NOT(400)),
  addr('405', () => NOT(405)),
  addr('500', () => NOT(500)),
  addr('200 null', () => ({ status: 200, body: { success: true, data: null } })),
  addr('200 []', () => ({ status: 200, body: { success: true, data: [] } })),
  addr('200 {}', () => ({ status: 200, body: { success: true, data: {} } })),
  addr('200 false', () => ({ status: 200, body: { success: false, message: 'No such customer' } })),
  addr('200 another id', (_, s) => ({ status: 200, body: { success: true, data: s.of('customers')[0] } })),
  addr('200 as it was', id => ({ status: 200, body: { success: true, data: { id: Number(id), account: 'X', updated_at: '2026-01-01T00:00:00Z' } } })),
  addr('200 changes each time', id => ({ status: 200, body: { success: true, data: { id: Number(id), account: `X ${Math.random()}`, updated_at: '2026-01-01T00:00:00Z' } } })),
  addr('204', () => ({ status: 204, body: {} })),
  addr('429 for an hour', () => NOT(404)),
  {
    name: 'archived 404 that the list shows, with deletions and inserts between pages', rounds: 9, mode: { lists: ['customers'], size: { customers: 420, invoices: 20, transactions: 20 } },
    setup: s => {
      s.address = id => (Number(id) % 2 === 0 ? NOT(404) : null);
      s.before = ask => { if (ask.round < 1 || ask.round > 4 || !/customers$/.test(ask.path) || ask.nth % 2) return; const all = s.of('customers'); s.remove('customers', all[(ask.nth * 37 + ask.round * 91) % all.length]?.id); s.add('customers'); };
    },
  },
  {
    name: 'invoices over a year old archived out of list, still in customer list', rounds: 8, mode: { lists: ['customers', 'invoices'] },
    setup: s => {
      const old = (r: Row) => r.invoice_number && r.date < '2025-07-01' && Number(r.id) % 4 === 0;
      s.view = (r, { list, query, round }) => (list === 'invoices' && round >= 2 && old(r) && !query.has('customer_id') ? null : r);
      s.truth = (r, list) => (list === 'invoices' && s.round >= 2 && old(r) ? null : r);
    },
  },
  {
    name: 'invoices archived out of customer list, still in list, with real deletions', rounds: 8, mode: { lists: ['customers', 'invoices'] },
    setup: s => { s.view = (r, { list, query }) => (list === 'invoices' && r.date < '2025-07-01' && query.has('customer_id') ? null : r); },
    step: { 2: s => { for (const r of s.of('invoices').slice(30, 36)) s.remove('invoices', r.id); }, 4: s => { for (const r of s.of('invoices').slice(130, 136)) s.remove('invoices', r.id); } },
  },
  {
    name: 'customer lists empty for half of the customers, with real deletions and moves', rounds: 8, mode: { lists: ['customers', 'invoices'] },
    setup: s => { s.view = (r, { list, query }) => (list === 'invoices' && Number(r.customer_id) % 2 === 0 && query.has('customer_id') ? null : r); },
    each: (s, round) => { if (round > 0 && round < 5) { for (const r of s.of('invoices').slice(30 + round, 33 + round)) s.remove('invoices', r.id); for (const r of s.of('invoices').slice(60, 63)) s.edit('invoices', r.id, { date: '2025-0' + round + '-11' }); } },
  },
  {
    name: 'deleted customer, invoices move to another within the sync', rounds: 8, mode: { lists: ['customers', 'invoices'] },
    setup: s => {
      let n = 0;
      s.before = ask => { if (ask.round < 1 || ask.round > 5 || ask.nth % 3 !== 1) return; n++; const c = s.of('customers')[5 + n]; const to = s.of('customers')[60]; for (const r of s.of('invoices')) if (r.customer_id === c?.id) { r.customer_id = to?.id; if (n % 2) r.date = `2025-0${1 + (n % 9)}-10`; } s.remove('customers', c?.id); };
      s.answer = (ask, normal) => { const c = ask.query.get('customer_id'); return c && !s.rows.customers.has(c) ? NOT(404) : normal(); };
    },
  },
  {
    name: 'deleted customer, invoices vanish a request later', rounds: 8, mode: { lists: ['customers', 'invoices'] },
    setup: s => {
      let later: number[] = [];
      s.before = ask => { for (const id of later) s.remove('invoices', id); later = []; if (ask.round < 1 || ask.round > 3 || ask.nth % 4 !== 1) return; const c = s.of('customers')[8]; later = s.of('invoices').filter(r => r.customer_id === c?.id).map(r => r.id); s.remove('customers', c?.id); };
      s.answer = (ask, normal) => { const c = ask.query.get('customer_id'); return c && !s.rows.customers.has(c) ? NOT(404) : normal(); };
    },
  },
  {
    name: 'replica ten minutes behind for every third request', rounds: 8, mode: { lagMs: 60_000 }, gap: () => 5 * 60_000,
    setup: s => {
      const shots: { at: number; rows: any }[] = [];
      (s as any).shot = () => shots.push({ at: s.now(), rows: structuredClone(s.rows) });
      s.answer = (ask, normal) => {
        if (ask.nth % 3 !== 0) return normal();
        const old = shots.findLast(x => x.at <= ask.now - 600_000) ?? shots[0];
        if (!old) return normal();
        const kept = { ...s.rows }; Object.assign(s.rows, structuredClone(old.rows)); try { return normal(); } finally { Object.assign(s.rows, kept); }
      };
    },
    each: (s, round) => { if (round > 0 && round < 5) for (const list of ALL) { s.add(list); s.add(list); s.edit(list, s.of(list)[11 + round]?.id, { [txt[list] as string]: `E${round}` }); s.remove(list, s.of(list)[30]?.id); } (s as any).shot(); },
  },
  {
    name: 'replica forty seconds behind for some', rounds: 8, mode: { lagMs: 60_000 }, gap: r => (r < 6 ? 30_000 : HOUR),
    setup: s => {
      const shots: { at: number; rows: any }[] = [];
      (s as any).shot = () => shots.push({ at: s.now(), rows: structuredClone(s.rows) });
      s.answer = (ask, normal) => {
        if (ask.nth % 3 !== 0) return normal();
        const old = shots.findLast(x => x.at <= ask.now - 40_000) ?? shots[0];
        if (!old) return normal();
        const kept = { ...s.rows }; Object.assign(s.rows, structuredClone(old.rows)); try { return normal(); } finally { Object.assign(s.rows, kept); }
      };
    },
    each: (s, round) => { if (round > 0 && round < 5) for (const list of ALL) { s.add(list); s.add(list); s.edit(list, s.of(list)[11 + round]?.id, { [txt[list] as string]: `E${round}` }); s.remove(list, s.of(list)[30]?.id); } (s as any).shot(); },
  },
  {
    name: 'an edit is undone with its updated_at within a minute', rounds: 6, mode: { lagMs: 60_000, lists: ['customers'] }, gap: r => (r <= 2 ? 20_000 : HOUR),
    step: { 1: s => { const r = s.of('customers')[9] as Row; (s as any).was = { ...r }; s.edit('customers', r.id, { city: 'Typo' }); }, 2: s => { Object.assign(s.of('customers')[9] as Row, (s as any).was); } },
  },
  ...[['0012', (id: number) => String(id).padStart(5, '0')], ['12.0', (id: number) => `${id}.0`], ['blank', (id: number) => ` ${id}`], ['plus', (id: number) => `+${id}`], ['exp', (id: number) => `${id}e0`], ['thousands', (id: number) => id.toLocaleString('en')], ['prefix', (id: number) => `C-${id}`]].map(([n, f]): Case => ({
    name: `ids written as ${n as string} for two readings`, rounds: 6, setup: s => { s.view = (r, { round }) => (round === 2 || round === 3 ? { ...r, id: (f as any)(Number(r.id)) } : r); },
  })),
  {
    name: 'field renamed two days and back', rounds: 8, gap: () => 12 * HOUR,
    setup: s => { s.view = (r, { round, list }) => { if (round < 2 || round > 5) return r; const f = txt[list] as string; const { [f]: v, ...rest } = r; return { ...rest, [`${f}_v2`]: v }; }; },
  },
  {
    name: 'amounts in another currency for a day', rounds: 7, gap: () => 12 * HOUR, mode: { lists: ['invoices', 'transactions'] },
    setup: s => { const f = (r: Row) => ({ ...r, amount: (Number(r.amount) * 1.0837).toFixed(2), ...(r.items && { items: r.items.map((i: Row) => ({ ...i, amount: (Number(i.amount) * 1.0837).toFixed(2) })) }) }); s.view = (r, { round }) => (round === 2 || round === 3 ? f(r) : r); s.truth = r => (s.round === 2 || s.round === 3 ? f(r) : r); },
  },
  {
    name: 'half of the invoices with the lines of others', rounds: 6, mode: { lists: ['invoices'] },
    setup: s => { const f = (r: Row) => { const n = s.rows.invoices.get(String(Number(r.id) + 1)) ?? s.of('invoices')[0] as Row; return Number(r.id) % 2 ? { ...r, items: n.items } : r; }; s.view = (r, { round }) => (round >= 2 && round < 4 ? f(r) : r); s.truth = r => (s.round >= 2 && s.round < 4 ? f(r) : r); },
  },
  {
    name: 'all dates a day earlier for two readings', rounds: 7, mode: { lists: ['invoices', 'transactions'] },
    setup: s => { const f = (r: Row) => { const d = (x: any) => (x ? new Date(Date.parse(x) - DAY).toISOString().slice(0, 10) : x); return { ...r, date: d(r.date), ...('due_date' in r ? { due_date: d(r.due_date) } : {}) }; }; s.view = (r, { round }) => (round >= 2 && round < 4 ? f(r) : r); s.truth = r => (s.round >= 2 && s.round < 4 ? f(r) : r); },
  },
  {
    name: 'all dates a day earlier but filter on the true ones', rounds: 7, mode: { lists: ['invoices', 'transactions'] },
    setup: s => { const d = (x: any) => (x ? new Date(Date.parse(x) - DAY).toISOString().slice(0, 10) : x); const f = (r: Row) => ({ ...r, date: d(r.date), ...('due_date' in r ? { due_date: d(r.due_date) } : {}) }); s.answer = (ask, normal) => { const a = normal(); return ask.round >= 2 && ask.round < 4 && Array.isArray(a.body.data) ? { ...a, body: { ...a.body, data: a.body.data.map(f) } } : a; }; s.truth = r => (s.round >= 2 && s.round < 4 ? f(r) : r); },
  },
  {
    name: 'honest import of 500 old rows', rounds: 5,
    step: { 2: s => { for (const list of ALL) for (let i = 0; i < 500; i++) s.add(list, list === 'invoices' || list === 'transactions' ? { date: `20${10 + (i % 9)}-0${1 + (i % 9)}-15` } : list === 'customers' ? { updated_at: '2014-02-03T00:00:00Z', created_at: '2014-02-03T00:00:00Z' } : {}); } },
  },
  {
    name: 'honest mass edit of one column', rounds: 6,
    step: { 2: s => { for (const list of ALL) for (const r of s.of(list)) s.edit(list, r.id, { [txt[list] as string]: `Mass ${Number(r.id) % 5}` }); } },
  },
  {
    name: 'mass edit of thirty percent, a tenth every hour', rounds: 7, gap: () => 4 * HOUR,
    each: (s, round) => { if (round > 0 && round < 5) for (const list of ALL) for (const r of s.of(list)) if (Number(r.id) % 10 === round) s.edit(list, r.id, { [txt[list] as string]: `Mass ${round}` }); },
  },
  {
    name: 'line items in another order each time', rounds: 8, mode: { lists: ['invoices'] },
    setup: s => { s.view = (r, { nth, round }) => ({ ...r, items: (nth + round) % 2 ? [...r.items].reverse() : r.items }); s.truth = r => r; },
  },
  {
    name: 'last viewed in a known field, with deletions', rounds: 9,
    setup: s => { let n = 0; s.view = (r, { list }) => ({ ...r, [txt[list] as string]: `seen ${n++}` }); s.truth = () => null; s.address = id => { const r = s.rows.customers.get(id); return r ? { status: 200, body: { success: true, data: { ...r, city: `seen ${n++}` } } } : null; }; },
    each: (s, round) => { if (round > 1 && round < 6) for (const list of ALL) { s.remove(list, s.of(list)[22]?.id); if (round % 2) s.add(list); } },
  },
  {
    name: 'field shown only in rows that have it, and lost by those', rounds: 7,
    setup: s => { s.view = (r, { list }) => { const f = txt[list] as string; if (Number(r.id) % 9 === 0) return r; const { [f]: _, ...rest } = r; return rest; }; s.truth = (r, list) => (Number(r.id) % 9 === 0 ? r : { ...r, [txt[list] as string]: null }); },
    step: { 2: s => { for (const list of ALL) for (const r of s.of(list).filter(r => Number(r.id) % 9 === 0).slice(0, 3)) s.edit(list, r.id, { [txt[list] as string]: null }); }, 4: s => { for (const list of ALL) for (const r of s.of(list).filter(r => Number(r.id) % 9 === 0)) s.edit(list, r.id, { [txt[list] as string]: 'again' }); } },
  },
  {
    name: 'hidden tenth of list for six readings, address shows them', rounds: 9, mode: { lists: ['customers'] },
    setup: s => hide(s, 2, 8, r => Number(r.id) % 10 === 3, ['customers'], false),
  },
  {
    name: 'permission hides each time another three rows', rounds: 9,
    setup: s => hide(s, 1, 8, r => Number(r.id) % 40 === s.round),
  },
  {
    name: 'reissued ids in one sync gap: delete five newest, five new take the ids', rounds: 6,
    step: { 2: s => { for (const list of ALL) { const last = s.of(list).slice(-5).map(r => r.id); for (const id of last) s.remove(list, id); for (const id of last) s.add(list, { id, [txt[list] as string]: 'second' }); } } },
  },
);
const wanted = (process.env.CASE ?? '').split('|').filter(Boolean);
const modes = (process.env.PMODE ?? 'desc').split(',');
for (const mode of modes)
  for (const kase of CASES)
    if (wanted.length === 0 || wanted.some(w => kase.name.includes(w)))
      test(`${kase.name} ${mode}`, { timeout: 280_000 }, () => play(kase, MODES[mode] as Mode));
