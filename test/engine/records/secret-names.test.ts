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

test('a name of a mebibyte is judged by its two ends, so that it takes no longer than one of 200 characters', () => {
  for (const part of ['password ', 'token1', 'tokenhash', 'card ', 'aA', '_', 'pass ', 'api key', '1', 'user pass ']) {
    const name = part.repeat(2 ** 20 / part.length);
    expect(isSecretName(name)).toBe(isSecretName(`${name.slice(0, 100)} ${name.slice(-100)}`));
    expect(plainName(name)).toBe(plainName(name.slice(0, 200)));
  }
  const side = 'x'.repeat(2 ** 19);
  expect(isSecretName(`${side} password ${side}`)).toBe(false);
  expect(isSecretName(`${side}${side} password`)).toBe(true);
});
