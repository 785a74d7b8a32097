import { expect, test } from 'vitest';
import { didYouMean, nearestName } from '../src/nearest-name.ts';

test('the nearest name is found after a typing error, whatever the case, and none is guessed', () => {
  const names = ['account', 'amount', 'date', 'description'];
  expect(nearestName('amuont', names)).toBe('amount');
  expect(nearestName('Acount', names)).toBe('account');
  expect(nearestName('descripton', names)).toBe('description');
  expect(nearestName('dat', names)).toBe('date');
  expect(nearestName('price', names)).toBe(undefined);
  expect(nearestName('', names)).toBe(undefined);
  expect([didYouMean('amounts', names), didYouMean('vat', names)]).toEqual([' (did you mean "amount"?)', '']);
});
