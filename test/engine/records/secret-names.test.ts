import { expect, test } from 'vitest';
import { isSecretName, plainName } from '../../../src/engine/records/secret-names.ts';
import { HARMLESS, SECRETS } from './names.ts';

test('names of passwords, keys, tokens, second factors and cards are recognised, however they are spelt', () => {
  expect(SECRETS.filter(name => !isSecretName(name))).toEqual([]);
});

test('names that only resemble them are not', () => {
  expect(HARMLESS.filter(isSecretName)).toEqual([]);
});

test('names that differ only in capitals and separators are equal', () => {
  expect(['date_of_birth', 'DateOfBirth', 'DATE-OF-BIRTH', 'date of birth'].map(plainName)).toEqual(
    Array(4).fill('dateofbirth'),
  );
});

test('a name of a mebibyte is judged within 50 ms', () => {
  for (const part of ['password ', 'token1', 'tokenhash', 'card ', 'aA', '_', 'pass ', 'api key', '1', 'user pass ']) {
    const name = part.repeat(2 ** 20 / part.length);
    const began = performance.now();
    isSecretName(name);
    plainName(name);
    expect(performance.now() - began).toBeLessThan(50);
  }
});
