import { expect, test } from 'vitest';
import { parseVariants } from '../../../sandbox/parse/parse-variants.ts';
import type { SluiceError } from '../../../src/errors.ts';

test('variants: parsed, including spaces and an empty text', () => {
  expect(parseVariants('paging=capped, order = shuffled,')).toEqual({ paging: 'capped', order: 'shuffled' });
  expect(parseVariants('')).toEqual({});
});

test('an unknown name or value is a usage error that lists the valid ones', () => {
  const errorOf = (text: string) => {
    try {
      parseVariants(text);
    } catch (error) {
      return error as SluiceError;
    }
    throw new Error('no error');
  };
  expect(errorOf('sorting=up')).toMatchObject({ kind: 'usage', message: 'Unknown variant "sorting".' });
  expect(errorOf('sorting=up').next).toContain('paging, ');
  expect(errorOf('order=up')).toMatchObject({
    kind: 'usage',
    message: 'Unknown value "up" for variant "order".',
    next: 'Values of order: id-desc, id-asc, updated-desc, updated-asc, date-desc, date-desc-loose, shuffled.',
  });
  expect(errorOf('order')).toMatchObject({ kind: 'usage' });
  expect(errorOf('toString=1')).toMatchObject({ kind: 'usage' });
});
