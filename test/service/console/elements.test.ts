import { expect, test } from 'vitest';
import { commandsIn } from '../../../src/service/console/elements.ts';

test.each([
  ['To migrate now: sluice migrate', ['sluice migrate']],
  [
    'To continue it: sluice backfill resume 5. To give it up: sluice backfill cancel 5.',
    ['sluice backfill resume 5', 'sluice backfill cancel 5'],
  ],
  ['Run "sluice status" once as that user, which brings it up to date.', ['sluice status']],
  ['Run sluice status, and check the log for what the service is waiting for.', ['sluice status']],
  [
    'If they are really gone: sluice sync invoices --accept-deletes 12 --source graz',
    ['sluice sync invoices --accept-deletes 12 --source graz'],
  ],
  ['sluice status prints its address.', []],
])('the commands in: %s', (text, commands) => {
  expect(commandsIn(text)).toEqual(commands);
});
