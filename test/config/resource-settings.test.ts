import { expect, test } from 'vitest';
import { useFolder } from './use-folder.ts';

const { read } = useFolder();

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
