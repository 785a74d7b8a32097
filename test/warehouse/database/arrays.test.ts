import fc from 'fast-check';
import { expect, test } from 'vitest';
import { arrayText } from '../../../src/warehouse/database/arrays.ts';
import { withDatabase } from '../../support/database.ts';

test('Postgres reads back what was written, whatever the text', async () => {
  await withDatabase(async database => {
    const element = fc.option(
      fc.oneof(
        fc.string({ unit: 'grapheme' }).map(text => text.replaceAll('\0', '')),
        fc.constantFrom('', 'NULL', 'null', '"', '\\', '\\"', '{', '}', ',', ' a ', "'", '\n', '\\x00ff'),
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(element), async values => {
        const { rows } = await database.query('select cast($1 as text[]) as read', [arrayText(values)]);
        expect(rows).toEqual([{ read: values }]);
      }),
      { numRuns: 200 },
    );
  });
});
