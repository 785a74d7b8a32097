import { describe, expect, test } from 'vitest';
import { MINUTE } from '../../../src/clock.ts';
import { verdictOf } from '../../../src/service/status/condition.ts';
import { type FullState, type ResourceState, unreadableState } from '../../../src/service/status/source-state.ts';
import type { Incident } from '../../../src/warehouse/ledgers/incidents.ts';
import type { Order } from '../../../src/warehouse/ledgers/orders.ts';
import { noCounts, type Run } from '../../../src/warehouse/ledgers/runs.ts';
import type { OrderProgress } from '../../../src/warehouse/reports/order-progress.ts';

const AT = Date.UTC(2026, 0, 15, 12);

const invoices: ResourceState = {
  resource: 'invoices',
  rows: 10,
  newestChange: null,
  oldestProof: null,
  oldestProofSeconds: null,
  slices: 2,
  provenInADay: 2,
  neverRead: 0,
  absent: false,
  missing: 0,
  quarantined: 0,
  held: 0,
  apart: [],
  end: null,
};

const source = (name: string, given: Partial<FullState> = {}, minutes: number | null = 2): FullState => ({
  name,
  timeZone: 'UTC',
  unreadable: null,
  resources: [invoices],
  runs: [],
  failed: [],
  recentFailures: [],
  incidents: [],
  drift: [],
  orders: [],
  ticks: [],
  upToDateAt: minutes === null ? null : AT - minutes * MINUTE,
  reader: null,
  requests: 0,
  usage: null,
  lastHour: [],
  delays: [],
  readAt: AT,
  ...given,
});

const incident = (kind: Incident['kind'], resource: string | null = null): Incident => ({
  id: '1',
  source: 'graz',
  resource,
  kind,
  message: '',
  next: null,
  openedAt: '2026-01-15 11:46:00+00',
  endedAt: null,
});

const run = (reason: string | null): Run => ({
  id: '1',
  resource: 'invoices',
  kind: 'slot',
  state: 'waiting',
  reason,
  next: null,
  waitingUntil: null,
  startedAt: '2026-01-15 11:46:00+00',
  endedAt: null,
  ...noCounts(),
});

const unreadable = unreadableState({ name: 'wels', timeZone: 'UTC' }, 'no schema');
const troubled = source('graz', { incidents: [incident('unavailable')] });
const waiting = source('linz', { runs: [run(null)] });
const first = source('bonn', { resources: [{ ...invoices, neverRead: 1 }] }, null);
const order = { state: 'running' } as Order & { progress: OrderProgress };
const healthy = source('wien');

const said = (...sources: FullState[]) => {
  const { text, rest } = verdictOf(sources, AT);
  return [text, rest];
};

describe('the verdict', () => {
  test('says how old the oldest tick is where all is well, whatever orders run', () => {
    expect(said(healthy)).toEqual(['wien is up to date as of 2 min ago', '']);
    expect(said(healthy, source('ulm', { orders: [order] }, 7))).toEqual([
      'All 2 sources are up to date as of 7 min ago',
      '',
    ]);
  });

  test('names the worst trouble, and the healthy rest in one line', () => {
    expect(said(healthy, first, waiting, troubled, unreadable)[0]).toBe('The state of wels cannot be read');
    expect(said(healthy, first, waiting, troubled)[0]).toBe('graz has not answered for 14 min');
    expect(said(healthy, first, waiting)).toEqual([
      'linz: waiting for the request limit',
      'wien is up to date as of 2 min ago.',
    ]);
    expect(said(first, healthy, source('ulm', {}, 9))).toEqual([
      'bonn is being read for the first time',
      'wien and ulm are up to date as of 9 min ago.',
    ]);
  });

  test('counts the others in the same trouble, and names the resource', () => {
    const fuse = source('graz', { incidents: [incident('fuse', 'customers')] });
    expect(said(fuse, source('ulm', { incidents: [incident('failed')] }))[0]).toBe(
      'customers of graz: more would be lost than a day allows; 1 other source in trouble',
    );
    expect(said(first, { ...first, name: 'ulm' })[0]).toBe('bonn and 1 other source are being read for the first time');
  });

  test('says for how long a source waits', () => {
    const waitingUntil = new Date(AT + 25 * 60_000).toISOString();
    expect(said(source('linz', { runs: [{ ...run(null), waitingUntil }] }))[0]).toBe(
      'linz: waiting for the request limit, for another 25 min',
    );
  });

  test('a source that waits for another reason than the limit says so', () => {
    expect(said(source('linz', { runs: [run('It answers 503.')] }))[0]).toBe('linz: waiting before the next attempt');
  });

  test('without any schedule, a source is up to date for a day after it was read', () => {
    expect(said(source('wien', { ticks: [] }, 50))[0]).toBe('wien is up to date as of 50 min ago');
    const old = source('wien', { resources: [{ ...invoices, provenInADay: 1 }] }, 3000);
    const sentence = 'wien: no schedule is set, and not all of it was read within the last 24 hours';
    expect(said(old)[0]).toBe(sentence);
    // Nothing of it is known yet.
    expect(said(source('wien', { resources: [{ ...invoices, slices: 0, provenInADay: 0 }] }, null))[0]).toBe(sentence);
    const absent = { ...invoices, absent: true, slices: 1, provenInADay: 0 };
    expect(said(source('wien', { resources: [invoices, absent] }))[0]).toBe('wien is up to date as of 2 min ago');
    expect(said(source('wien', { ...old, ticks: [{ resource: 'invoices', at: AT }] }))[0]).toMatch(
      /^wien is up to date/,
    );
  });

  test('nothing is called up to date before a tick was served, not even while an order runs', () => {
    expect(said(source('wien', {}, null))[0]).toBe('wien: no scheduled sync has been completed yet');
    expect(said(source('wien', { orders: [order] }, null))[0]).toBe('wien: no scheduled sync has been completed yet');
    const ticks = [{ resource: 'invoices', at: null }];
    expect(said(source('wien', { ticks }, null))[0]).toBe('wien: no scheduled sync has been completed yet');
    expect(said()).toEqual(['No source is configured', '']);
  });
});
