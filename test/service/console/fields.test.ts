import { expect, test } from 'vitest';
import type { Change } from '../../../src/service/status/editor.ts';
import { withDatabase } from '../../support/database.ts';
import { ask, noEditor, servedSource, withService } from '../with-service.ts';

test('what is erased of one source is not said to be erased of another', async () => {
  await withDatabase(async database => {
    const sources = ['graz', 'vienna'].map(name => ({ ...servedSource(database), name }));
    const told = async (page: Change['page']) => {
      const words = { doing: 'customers.phone is erased', done: 'customers.phone is erased.', failed: 'It is not.' };
      const editor = { ...noEditor, last: { change: { ...words, page }, isUnderWay: false, failure: null } };
      const pages: boolean[] = [];
      await withService(database, { sources, editor }, async ({ url }) => {
        for (const path of ['graz?list=customers', 'graz?list=invoices', 'vienna?list=customers'])
          pages.push((await ask(`${url}/fields/${path}`)).text.includes('customers.phone is erased.'));
      });
      return pages;
    };
    expect(await told({ resource: 'customers', source: 'graz' })).toEqual([true, false, false]);
    expect(await told({ resource: 'customers' })).toEqual([true, false, true]);
  });
});
