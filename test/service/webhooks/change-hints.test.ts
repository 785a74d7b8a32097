import { expect, test } from 'vitest';
import { changeHintsIn } from '../../../src/service/webhooks/change-hints.ts';

const jobs = new Map([
  ['customers', { events: {} }],
  ['invoices', { events: { 'invoice.created': ['invoice_id', 'id'], 'payment.received': ['invoice_id', 'id'] } }],
  ['transactions', { events: { 'payment.received': [] } }],
]);
const hints = (message: unknown) =>
  changeHintsIn(typeof message === 'string' ? message : JSON.stringify(message), jobs).map(
    ({ resource, slice }) => `${resource} ${slice}`,
  );

test.each([
  ['the event and the row', { event: 'invoice.created', data: { id: 17, customer_id: 3 } }, ['invoices one 17']],
  ['the key as text', { type: 'invoice.created', object: { id: ' 17 ' } }, ['invoices one 17']],
  [
    'the row inside another',
    { event: 'payment.received', data: { id: 5, invoice: { id: 17 } } },
    ['invoices one 17', 'transactions newest'],
  ],
  ['form fields', 'event=payment.received&invoice_id=17', ['invoices one 17', 'transactions newest']],
  ['an unknown event', { event: 'invoice.deleted', id: 17 }, ['invoices one 17', 'transactions newest']],
])('a message with %s points to the rows that it names', (_what, message, expected) => {
  expect(hints(message)).toEqual(expected);
});

test.each([
  ['nothing', ''],
  ['invalid JSON', '{"event": "invoice.created", '],
  ['another shape', [1, [2, null], 'x']],
  ['no key', { id: 'INV-17', invoice_id: -1, data: { id: 1.5, invoice_id: true } }],
  ['a key that fits no column', { id: '99999999999999999999' }],
  ['SQL', { id: "1'; drop table sluice.hints; --" }],
  ['a key that is too deep', { a: { b: { c: { d: { e: { f: { id: 17 } } } } } } }],
  ['endless nesting', `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`],
  ['names of built-in properties', '{"__proto__": {"id": 1.5}, "constructor": {"prototype": 1}}'],
])('a message with %s points to the newest end of the lists', (_what, message) => {
  expect(hints(message)).toEqual(['invoices newest', 'transactions newest']);
});
