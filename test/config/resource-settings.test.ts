import { expect, test } from 'vitest';
import { useFolder } from './use-folder.ts';

const { read, problems } = useFolder();

test('schedules and weights are set per resource, and schedules have their own time zone', () => {
  const { sources } = read({
    SCHEDULE_INVOICES: '*/5 * * * *',
    SCHEDULE_CUSTOMERS: 'off',
    SCHEDULE_TIMEZONE: 'Europe/Vienna',
    WEIGHT_INVOICES: '3',
  });
  expect(sources).toMatchObject([
    {
      timeZone: 'UTC',
      schedules: { invoices: '*/5 * * * *', customers: 'off' },
      scheduleTimeZone: 'Europe/Vienna',
      weights: { invoices: 3 },
    },
  ]);
});

test('a resource may have a target, and the bound on unread parts is a setting', () => {
  expect(read({ FRESHNESS_TARGET_MINUTES_INVOICES: '5', FRESHNESS_MOST_SWEEPS: '3' })).toMatchObject({
    sources: [{ targetMinutes: { invoices: 5 }, weights: {}, mostSweeps: 3 }],
  });
  expect(read({})).toMatchObject({ sources: [{ targetMinutes: {}, mostSweeps: 5 }] });
  const { shown } = read({ FRESHNESS_TARGET_MINUTES_INVOICES: '5' });
  expect(shown).toContainEqual({ name: 'FRESHNESS_TARGET_MINUTES_INVOICES', value: '5', from: 'environment' });
});

test('a setting of an earlier version is reported and has no effect', () => {
  expect(read({ SLUICE_PACE: 'ticks' }).warnings).toEqual([
    'SLUICE_PACE is no longer used: requests are always spread evenly over time. Remove it from the settings.',
  ]);
});

test('a wrong target or bound is refused with the expected form', () => {
  const all = problems({
    FRESHNESS_TARGET_MINUTES_INVOICES: '0',
    FRESHNESS_TARGET_MINUTES_CUSTOMERS: 'soon',
    FRESHNESS_TARGET_MINUTES_INVOICE: '5',
    FRESHNESS_MOST_SWEEPS: '1',
  });
  expect(all).toContain('FRESHNESS_TARGET_MINUTES_INVOICES is "0"; expected a whole number from 1 to 525600.');
  expect(all).toContain('FRESHNESS_TARGET_MINUTES_CUSTOMERS is "soon"; expected a whole number from 1 to 525600.');
  expect(all).toContain('FRESHNESS_TARGET_MINUTES_INVOICE names an unknown resource; expected one of customers, ');
  expect(all).toContain('FRESHNESS_MOST_SWEEPS is "1"; expected a whole number from 2 to 1000.');
  expect(problems({ FRESHNESS_TARGET_INVOICES: '5' })).toMatch(
    /^A setting is wrong: FRESHNESS_TARGET_INVOICES is not a setting; expected one of .*FRESHNESS_TARGET_MINUTES_<NAME>/,
  );
});

test('a setting that begins like a limit of rewrites and is none is refused', () => {
  expect(problems({ REWRITE_LIMITS_INVOICES: 'notes:100' })).toMatch(
    /REWRITE_LIMITS_INVOICES is not a setting; expected one of REWRITE_LIMIT_<NAME>/,
  );
});
