import { expect, test } from 'vitest';
import { faultKinds } from '../../../sandbox/faults/fault-kinds.ts';
import { parseFaultPlan, parseFaultRates } from '../../../sandbox/parse/parse-faults.ts';
import type { SluiceError } from '../../../src/errors.ts';

const errorOf = (parse: (text: string) => unknown, text: string) => {
  try {
    parse(text);
  } catch (error) {
    const { kind, message, next } = error as SluiceError;
    expect(kind).toBe('usage');
    return [message, next];
  }
  throw new Error('no error');
};
const ALL = `Faults: ${Object.keys(faultKinds).join(', ')}.`;

test('fault rates: parsed, and errors name the problem', () => {
  expect(parseFaultRates('json-500=0.05, hang=.5,,drop=0')).toEqual({ 'json-500': 0.05, hang: 0.5, drop: 0 });
  expect(parseFaultRates('')).toEqual({});
  expect(errorOf(parseFaultRates, 'toString=1')).toEqual(['Unknown fault "toString".', ALL]);
  for (const rate of ['', '2', '-1', 'often', '0.1=9'])
    expect(errorOf(parseFaultRates, `hang=${rate}`)).toEqual([
      `Invalid probability "${rate}" for fault "hang".`,
      'Expected: a number from 0 to 1, e.g. hang=0.05.',
    ]);
  expect(errorOf(parseFaultRates, 'hang=0.6,drop=0.5')[0]).toBe('The fault probabilities add up to 1.10.');
  expect(parseFaultRates('hang=0.1,drop=0.2,reset=0.7')).toHaveProperty('reset', 0.7);
});

test('fault script: parsed, and errors name the line', () => {
  expect(
    parseFaultPlan('# note\r\n\r\n10 json-500\n  25  reset-body 3  /api/v2/invoices \n30 hang /customers'),
  ).toEqual([
    { at: 10, fault: 'json-500', count: 1, path: '' },
    { at: 25, fault: 'reset-body', count: 3, path: '/api/v2/invoices' },
    { at: 30, fault: 'hang', count: 1, path: '/customers' },
  ]);
  const form = 'Expected: at-request fault [count] [path], e.g. 25 json-500 2 /api/v2/invoices';
  expect(errorOf(parseFaultPlan, '1 hang\n10 hung')).toEqual(['Line 2: unknown fault "hung".', ALL]);
  expect(errorOf(parseFaultPlan, 'hang')).toEqual(['Line 1: cannot parse "hang".', form]);
  expect(errorOf(parseFaultPlan, '5 hang twice')[0]).toBe('Line 1: cannot parse "5 hang twice".');
  expect(errorOf(parseFaultPlan, '0 hang')[0]).toBe('Line 1: "0" is not a positive integer.');
  expect(errorOf(parseFaultPlan, '5 hang 2x')[0]).toBe('Line 1: "2x" is not a positive integer.');
});
