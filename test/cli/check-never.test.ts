import { expect, test } from 'vitest';
import { checkNever } from '../../src/cli/session/check-settings.ts';
import type { SourceConfig } from '../../src/config/config.ts';
import { JOBS } from '../support/resources.ts';

const check = (...never: string[]) =>
  checkNever(
    { sources: [{ name: 'vienna', settings: { never } } as unknown as SourceConfig] },
    new Map(Object.entries(JOBS)),
  );

test('SOURCE_NEVER refuses a field that has a column, in any spelling, because it would be stored', () => {
  expect(() => check('iban', 'E-Mail')).toThrow(
    'SOURCE_NEVER (never in the sources file) of the source vienna names "E-Mail", which is a column of customers, users.',
  );
  expect(() => check('QTY')).toThrow('a column of invoices, quotes.');
  expect(() => check('iban', 'date_of_birth')).not.toThrow();
});
