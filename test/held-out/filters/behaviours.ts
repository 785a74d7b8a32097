import { addDays, type Behaviour, type Query, type Row } from './world.ts';

const inside = (day: string | null, from: string | null, to: string | null) =>
  day !== null && (from === null || day >= from) && (to === null || day <= to);
const dated = (q: Query) => q.from !== null || q.to !== null;
const some = (row: Row, every: number, at = 3) => row.id % every === at;
const apart = (a: string, b: string) => (Date.parse(b) - Date.parse(a)) / 86_400_000;
const INVALID = { status: 422, body: { success: false, message: 'Validation failed', errors: { date_from: 'invalid' } } };

export const BEHAVIOURS: Record<string, Behaviour> = {
  plain: {},
  // Another field.
  'created-third': { make: row => { if (row.date && some(row, 3)) row._created = addDays(row.date, 40); }, date: (row, f, t) => inside(row._created, f, t) },
  'created-few': { make: row => { if (row.date && some(row, 37)) row._created = addDays(row.date, 100); }, date: (row, f, t) => inside(row._created, f, t) },
  'created-later': {
    // The dates are those of creation until somebody backdates rows.
    date: (row, f, t) => inside(row._created, f, t),
    step: (round, w) => { if ([2, 8, 10].includes(round)) for (const row of w.live().filter(r => some(r, 29, round)).slice(0, 4)) w.edit(row, { date: addDays(row.date, -70), _note: 'backdated' }); },
  },
  'created-next-day': { make: row => { if (row.date && some(row, 9)) row._created = addDays(row.date, 1); }, date: (row, f, t) => inside(row._created, f, t) },
  'created-2days': { make: row => { if (row.date && some(row, 9)) row._created = addDays(row.date, 2); }, date: (row, f, t) => inside(row._created, f, t) },
  'due': { date: (row, f, t) => inside(row.due_date, f, t) },
  'paid': { date: (row, f, t) => inside(row._paid, f, t) },
  'paid-few-late': { make: row => { row._paid = row.date; }, step: (round, w) => { if ([2, 8].includes(round)) for (const row of w.live().slice(20, 24)) w.edit(row, { _paid: w.today, status: 'Paid', _note: 'paid' }); }, date: (row, f, t) => inside(row._paid, f, t) },
  'issue-or-due': { date: (row, f, t) => inside(row.date, f, t) || inside(row.due_date, f, t) },
  // Zones.
  'tz-later': { date: (row, f, t) => inside(row.date && addDays(row.date, some(row, 3) ? 1 : 0), f, t) },
  'tz-earlier': { date: (row, f, t) => inside(row.date && addDays(row.date, some(row, 3) ? -1 : 0), f, t) },
  'tz-both': { date: (row, f, t) => inside(row.date && addDays(row.date, some(row, 3) ? -1 : some(row, 3, 1) ? 1 : 0), f, t) },
  'tz-few': { date: (row, f, t) => inside(row.date && addDays(row.date, some(row, 31) ? 1 : 0), f, t) },
  // Void.
  'void-not-in-dates': {
    date: (row, f, t) => row.status !== 'Void' && inside(row.date, f, t),
    step: (round, w) => { if ([2, 8, 9].includes(round)) for (const row of w.live().filter(r => r.status !== 'Void' && some(r, 23, round)).slice(0, 3)) w.edit(row, { status: 'Void', _note: 'voided' }); },
  },
  'void-from-start': {
    make: row => { if (some(row, 23)) row.status = 'Void'; },
    date: (row, f, t) => row.status !== 'Void' && inside(row.date, f, t),
    step: (round, w) => { if ([2, 8, 9].includes(round)) for (const row of w.live().filter(r => r.status !== 'Void' && some(r, 23, round)).slice(0, 3)) w.edit(row, { status: 'Void', _note: 'voided' }); },
  },
  'void-not-in-customer': {
    make: row => { if (some(row, 23)) row.status = 'Void'; },
    customer: (row, v) => row.status !== 'Void' && String(row.customer_id) === v,
    step: (round, w) => { if ([2, 8, 9].includes(round)) for (const row of w.live().filter(r => r.status !== 'Void' && some(r, 23, round)).slice(0, 3)) w.edit(row, { status: 'Void', _note: 'voided' }); },
  },
  'void-not-in-list': {
    make: row => { if (some(row, 23)) row.status = 'Void'; },
    listed: row => row.status !== 'Void',
    truth: () => true,
    step: (round, w) => { if ([2, 8, 9].includes(round)) for (const row of w.live().filter(r => r.status !== 'Void' && some(r, 23, round)).slice(0, 3)) w.edit(row, { status: 'Void', _note: 'voided' }); },
  },
  'unvoid-in-dates': {
    // Archived for a while, out of the date filter, then back.
    date: (row, f, t) => !row._archived && inside(row.date, f, t),
    step: (round, w) => {
      if ([2, 8].includes(round)) for (const row of w.live().filter(r => some(r, 19, round)).slice(0, 3)) w.edit(row, { _archived: true, _note: 'archived' });
      if ([4, 9].includes(round)) for (const row of w.live().filter(r => r._archived)) w.edit(row, { _archived: false, amount: 3 });
    },
  },
  'void-counts-unfiltered': {
    date: (row, f, t) => row.status !== 'Void' && inside(row.date, f, t),
    counts: (n, q, w) => (q.filtered ? w.live().length : n),
    step: (round, w) => { if ([2, 8, 9].includes(round)) for (const row of w.live().filter(r => r.status !== 'Void' && some(r, 23, round)).slice(0, 3)) w.edit(row, { status: 'Void', _note: 'voided' }); },
  },
  // Undated.
  'undated-every': { date: (row, f, t) => row.date === null || inside(row.date, f, t) },
  'undated-none': {},
  'undated-open-only': { date: (row, f, t) => (row.date === null ? f === null : inside(row.date, f, t)) },
  'undated-later': { step: (round, w) => { if ([2, 8].includes(round)) for (const row of w.live().slice(30, 33)) w.edit(row, { date: null, _note: 'date removed' }); } },
  'undated-later-every': { date: (row, f, t) => row.date === null || inside(row.date, f, t), step: (round, w) => { if ([2, 8].includes(round)) for (const row of w.live().slice(30, 33)) w.edit(row, { date: null, _note: 'date removed' }); } },
  // Ranges.
  'default-90': { pre: q => { if (dated(q)) { if (q.from === null) q.from = addDays(q.to as string, -90); else if (q.to === null) q.to = addDays(q.from, 90); } } },
  'default-90-today': { pre: (q, w) => { if (dated(q)) { if (q.from === null) q.from = addDays(q.to as string, -90); else if (q.to === null) q.to = w.today; } } },
  'clamp-31-first': { pre: q => { if (dated(q)) { q.from ??= '1970-01-01'; q.to ??= '9999-12-31'; if (apart(q.from, q.to) > 31) q.to = addDays(q.from, 31); } } },
  'clamp-31-last': { pre: (q, w) => { if (dated(q)) { q.from ??= '1970-01-01'; q.to ??= w.today; if (apart(q.from, q.to) > 31) q.from = addDays(q.to, -31); } } },
  'clamp-92-first': { pre: (q, w) => { if (dated(q)) { q.to ??= w.today; q.from ??= addDays(q.to, -92); if (apart(q.from, q.to) > 92) q.to = addDays(q.from, 92); } } },
  'clamp-366-first': { pre: (q, w) => { if (dated(q)) { q.to ??= w.today; q.from ??= addDays(q.to, -366); if (apart(q.from, q.to) > 366) q.to = addDays(q.from, 366); } } },
  'clamp-366-last': { pre: (q, w) => { if (dated(q)) { q.from ??= '1970-01-01'; q.to ??= addDays(w.today, 40); if (apart(q.from, q.to) > 366) q.from = addDays(q.to, -366); } } },
  'clamp-7-first': { pre: q => { if (dated(q)) { q.from ??= '1970-01-01'; q.to ??= '9999-12-31'; if (apart(q.from, q.to) > 7) q.to = addDays(q.from, 7); } } },
  'clamp-366-rejected-open': { pre: q => { if (dated(q)) { if (q.from === null || q.to === null || apart(q.from, q.to) > 366) return INVALID; } return undefined; } },
  'many-empty': { post: (rows, q) => (dated(q) && rows.length > 60 ? [] : rows) },
  'many-sample': { post: (rows, q) => (dated(q) && rows.length > 60 ? rows.filter((_, i) => i % 4 === 0) : rows) },
  'many-sample-random': { post: (rows, q, w) => (dated(q) && rows.length > 60 ? rows.filter(() => w.random() < 0.5) : rows) },
  'many-empty-filtered': { post: (rows, q) => (q.filtered && rows.length > 40 ? [] : rows) },
  'open-end-today': { pre: (q, w) => { if (dated(q)) q.to ??= w.today; } },
  'end-clamped-today': { pre: (q, w) => { if (dated(q) && (q.to === null || q.to > w.today)) q.to = w.today; } },
  'open-start-year': { pre: (q, w) => { if (dated(q)) q.from ??= `${w.today.slice(0, 4)}-01-01`; } },
  'open-start-to-year': { pre: q => { if (dated(q)) q.from ??= `${(q.to as string).slice(0, 4)}-01-01`; } },
  'start-clamped-year': { pre: (q, w) => { const first = addDays(w.today, -365); if (dated(q) && (q.from === null || q.from < first)) q.from = first; } },
  'swapped': { pre: q => { if (q.from && q.to && q.from > q.to) [q.from, q.to] = [q.to, q.from]; } },
  'refuses-far': { pre: q => ((q.from && (q.from < '1970-01-01' || q.from > '2100-01-01')) || (q.to && (q.to < '1970-01-01' || q.to > '2100-01-01')) ? INVALID : undefined) },
  'refuses-far-both': { pre: q => (dated(q) && (!q.from || !q.to || q.from < '1970-01-01' || q.to > '2100-01-01') ? INVALID : undefined) },
  'refuses-future-from': { pre: (q, w) => (q.from && q.from > w.today ? INVALID : undefined) },
  'refuses-future': { pre: (q, w) => ((q.from && q.from > w.today) || (q.to && q.to > w.today) ? INVALID : undefined) },
  'one-day-empty': { pre: q => { if (q.from && q.to && q.from === q.to) q.to = addDays(q.to, -1); } },
  'to-midnight-some': { date: (row, f, t) => inside(row.date, f, t) && !(some(row, 3) && row.date === t) },
  'from-exclusive': { date: (row, f, t) => inside(row.date, f, t) && row.date !== f },
  'month-floor': { pre: q => { if (q.from) q.from = `${q.from.slice(0, 7)}-01`; if (q.to) q.to = addDays(`${addDays(`${q.to.slice(0, 7)}-28`, 5).slice(0, 7)}-01`, -1); } },
  // Customers.
  'sub-customers': { customer: (row, v) => String(row.customer_id) === v || (Number(v) % 8 === 0 && Math.floor(row.customer_id / 8) * 8 === Number(v)) },
  'customer-prefix': { customer: (row, v) => String(row.customer_id).startsWith(v) },
  'customer-unknown-all': { customer: (row, v, w) => String(row.customer_id) === v || !w.live().some(r => String(r.customer_id) === v) },
  'customer-open': { customer: (row, v) => String(row.customer_id) === v && row.status !== 'Paid' },
  'customer-open-from-status': { customer: (row, v) => String(row.customer_id) === v && row.status !== 'Void', step: (round, w) => { if ([2, 8, 9].includes(round)) for (const row of w.live().filter(r => some(r, 23, round)).slice(0, 3)) w.edit(row, { status: 'Void', date: addDays(row.date, -100), _note: 'voided and moved' }); } },
  'customer-year': { customer: (row, v, w) => String(row.customer_id) === v && row.date > addDays(w.today, -365) },
  'customer-bill-to': { make: row => { row._billed = some(row, 7) ? (row.customer_id % 40) + 1 : row.customer_id; }, customer: (row, v) => String(row._billed) === v },
  'customer-shows-gone': { gone: q => q.customer !== null },
  'dates-show-gone': { gone: q => dated(q) },
  'filters-show-gone': { gone: q => q.filtered },
  'status-shows-gone': { gone: q => q.status !== null },
  // Status.
  'status-lower': { status: (row, v) => row.status.toLowerCase() === v },
  'status-few': { status: (row, v) => row.status === v && v !== 'Partially Paid' && v !== 'Pending' },
  'status-refuses': { pre: q => (q.status === 'Partially Paid' || q.status === 'Pending' ? INVALID : undefined) },
  'status-unknown-all': { status: (row, v) => (v === 'Partially Paid' || v === 'Pending' ? true : row.status === v) },
  'status-broader': { status: (row, v) => (v === 'Unpaid' ? row.status !== 'Paid' : v === 'Open' ? row.status !== 'Closed' : row.status === v) },
  'status-assigned-only': { status: (row, v) => row.status === v && row.id % 3 !== 0 },
  // Indexes.
  'index-lag': lag(q => q.filtered, 60_000),
  'index-lag-dates': lag(q => dated(q), 60_000),
  'index-lag-customer': lag(q => q.customer !== null, 60_000),
  'list-lag': lag(q => !q.filtered, 60_000),
  'index-lag-random': lag(q => q.filtered, 60_000, true),
  'index-lag-5m': lag(q => q.filtered, 300_000),
  'index-lacks-dates': { date: (row, f, t) => inside(row.date, f, t) && !some(row, 47) },
  'index-lacks-customer': { customer: (row, v) => String(row.customer_id) === v && !some(row, 47) },
  'index-lacks-each': { date: (row, f, t) => inside(row.date, f, t) && !some(row, 47), customer: (row, v) => String(row.customer_id) === v && !some(row, 47, 11) },
  'index-loses-dates': {
    // A row drops out of the index when it is edited.
    date: (row, f, t) => inside(row.date, f, t) && !row._dropped,
    step: (round, w) => { if ([2, 8, 10].includes(round)) for (const row of w.live().filter(r => some(r, 31, round)).slice(0, 2)) w.edit(row, { amount: 5, _dropped: true, _note: 'dropped from the index' }); },
  },
  'index-loses-silently': {
    date: (row, f, t) => inside(row.date, f, t) && !row._dropped,
    step: (round, w) => { if ([2, 8, 10].includes(round)) for (const row of w.live().filter(r => some(r, 31, round)).slice(0, 2)) row._dropped = true; },
  },
  'index-stale-rows': {
    // The index holds old values of some rows for ever.
    version: (row, q) => (row._gone ? null : q.filtered && some(row, 13) && row._versions.length > 0 ? { ...row._versions[0], _versions: row._versions } : row),
    step: (round, w) => { if ([2, 8].includes(round)) for (const row of w.live().filter(r => some(r, 13)).slice(round, round + 3)) w.edit(row, { amount: 4.5 + round }); },
  },
  'index-stale-dates-only': {
    version: (row, q) => (row._gone ? null : dated(q) && some(row, 13) && row._versions.length > 0 ? { ...row._versions[0], _versions: row._versions } : row),
    step: (round, w) => { if ([2, 8].includes(round)) for (const row of w.live().filter(r => some(r, 13)).slice(round, round + 3)) w.edit(row, { date: addDays(row.date, -60) }); },
  },
  // Forms.
  'rounded': { make: row => { row.amount = Math.round(row.amount * 10_000) / 10_000 + 0.0031; }, render: (row, q) => ({ ...row, amount: q.filtered ? row.amount : Math.round(row.amount * 100) / 100 }), truth: () => true },
  'date-form': { render: (row, q) => ({ ...row, date: q.filtered && row.date ? `${row.date.slice(8)}/${row.date.slice(5, 7)}/${row.date.slice(0, 4)}` : row.date }) },
  'date-utc': { render: (row, q) => ({ ...row, date: row.date === null ? null : q.filtered && some(row, 3) ? `${addDays(row.date, 1)}T06:30:00Z` : `${row.date}T22:30:00-08:00` }), date: (row, f, t) => inside(addDays(row.date, some(row, 3) ? 1 : 0), f, t) },
  'date-utc-all': { render: (row, q) => ({ ...row, date: row.date === null ? null : q.filtered ? `${addDays(row.date, 1)}T06:30:00Z` : `${row.date}T22:30:00-08:00` }), date: (row, f, t) => inside(addDays(row.date, 1), f, t) },
  'date-local-list': { render: (row, q) => ({ ...row, date: row.date && q.filtered && some(row, 3) ? addDays(row.date, 1) : row.date }), date: (row, f, t) => inside(addDays(row.date, some(row, 3) ? 1 : 0), f, t) },
};

function lag(of: (q: Query) => boolean, ms: number, isRandom = false): Behaviour {
  return {
    lagMs: 60_000,
    version: (row, q, w) => {
      const at = of(q) ? w.now - (isRandom ? Math.floor(w.random() * ms) : ms) : w.now;
      if (row._gone && row._gone <= at) return null;
      if (row._shownSince > at && w.now - row._shownSince < 3_600_000 && row.id > 300) return null;
      const old = row._versions.find((v: Row) => v._until > at);
      return old ? { ...old, _gone: undefined, _versions: row._versions } : row;
    },
  };
}
