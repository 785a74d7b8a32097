import { expect, test } from 'vitest';
import { variantPoints } from '../../../sandbox/variants/variant-points.ts';
import { describeVariants } from '../../../sandbox/variants/variants.ts';
import { openForTest, request } from '../test-client.ts';

test('the description names every point and value', () => {
  const text = describeVariants();
  for (const [name, { values, likely }] of Object.entries(variantPoints)) {
    expect(text).toContain(`${name}: `);
    for (const value of Object.keys(values)) expect(text).toContain(` ${value}: `);
    expect(text).toContain(`* ${likely}: `);
  }
});

test('variants change while the sandbox runs, except those fixed at opening', async () => {
  const sandbox = await openForTest({ rateLimit: 0 });
  sandbox.setVariants({ 'transaction-ids': 'no' });
  expect((await request(sandbox, '/api/v2/transactions')).body.data[0]).not.toHaveProperty('id');
  expect(() => sandbox.setVariants({ states: 'more' })).toThrow('Fixed when the sandbox is opened: states.');
});
