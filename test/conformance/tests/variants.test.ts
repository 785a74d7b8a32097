import { describe, expect, test } from 'vitest';
import { endlessFaults } from '../../../sandbox/faults/fault-kinds.ts';
import { variantPoints } from '../../../sandbox/variants/variant-points.ts';
import type { Variants } from '../../../sandbox/variants/variants.ts';
import { some } from '../../support/long.ts';
import { formatReport } from '../format-report.ts';
import { LIST_NAMES } from '../lists/documented-lists.ts';
import { MAX_REQUESTS } from '../requests/requester.ts';
import { findingsOf, methodsOf, notHandled, openWith } from './open-probe.ts';

/** Points that no check looks at. */
const UNCHECKED = [
  'empty-form',
  'total-records',
  'drafts',
  'limit-values',
  'pages',
  'behind-end',
  'count-age',
  'estimates',
  'long-pages',
  'most-weight',
] as const;

/** Values that a few requests cannot distinguish from others, and why. */
const INDISTINGUISHABLE: Readonly<Record<string, string>> = {
  'rejected-count=no': 'the limit would have to be exhausted',
  'rejected-count=yes': 'the limit would have to be exhausted',
  'fault=list-changes': 'a list that changes is not a fault',
  'visible=all': 'hidden rows cannot be detected',
  'visible=half': 'it looks like a smaller installation',
  'webhooks=once': 'a registration cannot be undone',
  'webhooks=twice': 'a registration cannot be undone',
  'webhooks=swapped': 'a registration cannot be undone',
  'webhooks=never': 'a registration cannot be undone',
  'most-rows=1000': 'it looks like paging=capped',
  'most-rows=2000': 'no list of the sandbox has so many rows',
  'most-rows-of=lists': 'it is seen with most-rows',
  'most-rows-of=filtered': 'the unfiltered response shows more',
  'most-rows-of=unfiltered': 'it is seen with most-rows',
  'most-rows-of=customer': 'no customer of the sandbox has so many rows',
  'most-rows-of=counted': 'the count leaves the other rows out, too',
  'batch=silent': 'the customers that a batch creates are found in either case',
  'creates=now': 'records are found in either case',
  'creates=later': 'records are found in either case',
  'new-ids=fresh': 'the newest record would have to be deleted',
  'new-ids=reissued': 'the newest record would have to be deleted',
  'rate-length=as-set': 'the limit would have to be exhausted',
  'rate-length=minute': 'the limit would have to be exhausted',
  'backdated=some': 'it is not checked',
  'backdated=none': 'it is not checked',
  'deleted-address=as-said': 'it is seen with deleted-customer',
  ...Object.fromEntries(
    ['unmarked', 'archived', 'merged', '500', '301'].map(value => [`deleted-address=${value}`, 'it is not told apart']),
  ),
  'customer-rows=all': 'it is not checked',
  'customer-rows=newer': 'it is not checked',
  'customer-rows=lighter': 'it is not checked',
  'customer-rows=refused': 'it is not checked',
  'date-times=no': 'few days have rows enough',
  'date-times=mixed': 'few days have rows enough',
  'list-names=positions': 'such a list is read in any case',
  'list-names=ids': 'such a list is read in any case',
  ...Object.fromEntries(
    UNCHECKED.flatMap(point =>
      Object.keys(variantPoints[point].values).map(value => [`${point}=${value}`, 'it is not checked']),
    ),
  ),
  'ids=edge': 'the rows that go to quarantine are reported as such',
  'secrets=wrapped': 'rows that are lists disturb the checks of other points',
};
/** Shown only by the answer to a request beyond the limit. */
const BEYOND_LIMIT = ['retry-after', 'rejected-body'];
const NEEDS_WRITE = ['stale', 'validation', 'batch', 'deleted-customer'];

const all = Object.entries(variantPoints).flatMap(([point, { values }]) =>
  Object.keys(values).map(value => [point, value] as const),
);
const determinable = (point: string): string[] =>
  all
    .filter(each => each[0] === point && !BEYOND_LIMIT.includes(point))
    .map(([, value]) => value)
    .filter(value => INDISTINGUISHABLE[`${point}=${value}`] === undefined);

/** Points of which no check disturbs that of another: the nth values of a group share a sandbox. Values of other points are alone. */
const GROUPS = [
  [
    ...[
      'rate-reset',
      'concurrency',
      'auth-error',
      'validation',
      'batch',
      'deleted-customer',
      'stale',
      'report',
      'dates',
    ],
    ...[
      'other-ids',
      'extra-fields',
      'none',
      'undated',
      'invoice-fields',
      'transaction-ids',
      'numbers',
      'lists',
      'charset',
    ],
    ...['digits', 'timestamps', 'states', 'secrets', 'other-lists', 'date-to'],
  ],
  ['rate-window', 'customer-fields', 'customer-address', 'count-values', 'past-end', 'limit-max'],
  ['no-rows', 'forbidden', 'null-rows', 'date-bounds', 'totals', 'filters'],
  ['rate-headers', 'failing-list', 'date-filter'],
  ['order', 'shared-key'],
];
const alone = Object.keys(variantPoints).filter(point => !GROUPS.flat().includes(point));

const cases = [...GROUPS, ...alone.map(point => [point])].flatMap(points => {
  const values = points.map(determinable);
  const plays = Math.max(...values.map(({ length }) => length));
  return Array.from({ length: plays }, (_, n) => {
    const given = points.map((point, nth) => [point, values[nth]?.[n % values[nth].length] as string] as const);
    return { text: given.map(([point, value]) => `${point}=${value}`).join(), given };
  });
});

test.for(some(cases, 16))('$text: each is determined, and every other point correctly', async ({ given }) => {
  const [point, value] = given[0] as readonly [string, string];
  const paging = point === 'cap' ? 'capped' : point === 'most-rows' && value !== 'all' ? 'whole' : 'meta';
  const { sandbox, run } = await openWith({ paging, ...Object.fromEntries(given) } as Partial<Variants>);
  const endless = endlessFaults.some(fault => fault === value);
  const write = given.some(each => NEEDS_WRITE.includes(each[0]));
  const { findings, requests, stopped } = await run({ write, ...(endless && { timeoutMs: 700 }) });

  for (const [point, value] of given) {
    const seen = findingsOf(findings, point).map(each => each.seen);
    // A fault shows itself as one of several kinds.
    expect([point, point === 'fault' ? seen.map(each => each?.split(/, |\|/)) : seen]).toEqual([
      point,
      point === 'fault' ? [expect.arrayContaining([value])] : [value],
    ]);
  }
  const wrong = findings.filter(each => {
    const actual = sandbox.variants[each.point as keyof Variants];
    return each.seen !== null && actual !== undefined && each.point !== 'fault' && !isSame(point, each.seen, actual);
  });
  // A 429 that is a fault need not look like a rejection by the limit.
  expect(wrong.filter(each => !(value.includes('429') && BEYOND_LIMIT.includes(each.point)))).toEqual([]);
  expect(notHandled(findings)).toEqual([]);
  expect(stopped).toBeNull();
  expect(requests).toBe(sandbox.stats.total);
  expect(requests).toBeLessThanOrEqual(MAX_REQUESTS);
  if (!write) expect(methodsOf(sandbox)).toEqual(['GET']);
});

/** A list that is cut off looks like one of the lists that are known to be; the uncut ones of the same source show all. */
const isSame = (point: string, seen: string, actual: string): boolean =>
  point === 'most-rows' ? [...seen.split('|'), 'all'].includes(actual) || seen === 'all' : seen === actual;

describe('beyond the limit', () => {
  test.for(all.filter(([point]) => BEYOND_LIMIT.includes(point)))(
    '%s=%s is determined if the limit is exhausted',
    async ([point, value]) => {
      const { sandbox, run } = await openWith({ [point]: value });
      sandbox.spend(1000);
      const { findings, requests, ok, stopped } = await run();
      expect(findingsOf(findings, point)).toMatchObject([{ seen: value, handled: 'yes' }]);
      expect(findingsOf(findings, 'paging')).toMatchObject([{ seen: null, handled: null }]);
      expect([requests, ok]).toEqual([1, false]);
      expect(stopped).toContain('limit is used up');
    },
  );

  test('the last requests of a shared key are not used, so no request is rejected', async () => {
    const { sandbox, run } = await openWith({});
    sandbox.spend(980);
    const { ok, requests, stopped, findings } = await run();
    // 15 with the key, and one with an invalid key.
    expect([ok, requests, sandbox.stats.rejected]).toEqual([false, 16, 0]);
    expect(stopped).toBe('only 5 requests are left to this key until its limit resets');
    expect(findingsOf(findings, 'search')).toMatchObject([{ seen: null, evidence: stopped }]);
  });
});

test.for(['bearer', 'query'] as const)(
  'all likely variants are determined and handled, with the key sent as %s',
  async auth => {
    const { sandbox, run } = await openWith({});
    const report = await run({ auth });
    expect(report).toMatchObject({ ok: true, stopped: null, written: { created: [], left: [], notOurs: [] } });
    const undetermined = report.findings.filter(({ seen }) => seen === null).map(({ point }) => point);
    const silent = [
      'backdated',
      'cap',
      'creates',
      'customer-rows',
      'deleted-address',
      'date-times',
      'list-names',
      ...UNCHECKED,
      'most-rows-of',
      'new-ids',
      'rate-length',
      'stale',
      'retry-after',
      'rejected-body',
      'rejected-count',
      'validation',
      'batch',
      'writes',
      'deleted-customer',
    ];
    expect(undetermined.sort()).toEqual([...silent, 'webhooks', 'visible'].sort());
    for (const point of ['stale', 'writes', 'validation', 'batch', 'deleted-customer'])
      expect(findingsOf(report.findings, point)).toMatchObject([{ evidence: 'checked only with --write' }]);
    for (const point of Object.keys(variantPoints))
      expect(findingsOf(report.findings, point).length).toBeGreaterThan(0);

    const text = formatReport(report, sandbox.url);
    expect(text.split('\n').filter(line => line.length > 100)).toEqual([]);
    expect(text).toContain(`${report.requests} requests to ${sandbox.url}`);
    expect(text).not.toContain(sandbox.apiKey);
  },
);

test('points that disturb the checks of others are determined together', async () => {
  const given = {
    'no-rows': '404',
    forbidden: 'transactions',
    totals: 'unfiltered',
    'date-bounds': 'wrapped',
    'deleted-customer': 'marked',
    'null-rows': 'yes',
  } as const;
  const { sandbox, run } = await openWith(given);
  const { findings, ok, stopped, written } = await run({ write: true });
  expect([ok, stopped, written.left]).toEqual([true, null, []]);
  for (const { point, seen } of findings)
    if (seen !== null && point in sandbox.variants)
      expect([point, seen]).toEqual([point, sandbox.variants[point as keyof Variants]]);
  for (const point of Object.keys(given)) expect(findingsOf(findings, point)[0]?.seen).not.toBeNull();
});

test('a combination that Sluice cannot handle is reported', async () => {
  const { run } = await openWith({ paging: 'capped', cap: '100', 'date-filter': 'ignored' });
  const { ok, findings } = await run();
  expect(ok).toBe(false);
  const why = 'the source only ever shows the first part of the list';
  expect(notHandled(findings).map(({ point, handled }) => `${point} ${handled}`)).toEqual([
    `paging not: with date-filter=ignored ${why}`,
    `date-filter not: with paging=capped ${why}`,
  ]);
});

test('a list without a job is reported', async () => {
  const { run } = await openWith({});
  const { ok, findings } = await run({ jobs: LIST_NAMES.filter(name => name !== 'quotes') });
  expect(findingsOf(findings, 'jobs')).toMatchObject([{ lists: ['quotes'], handled: 'not: no job reads it' }]);
  expect(ok).toBe(false);
});
