import { point } from './point.ts';

/** Which fields rows have, and how their values are written. */
export const rowPoints = {
  'customer-fields': point(
    'The fields of a customer row.',
    { full: 'all documented fields', bare: 'without created_at and updated_at' },
    'full',
  ),
  'invoice-fields': point(
    'The fields of an invoice row in a list.',
    { full: 'all documented fields', bare: 'without date and notes' },
    'full',
  ),
  'transaction-ids': point('Whether listed transactions have an id.', { yes: 'they do', no: 'they do not' }, 'yes'),
  'other-ids': point(
    'Whether listed products, quotes, tickets and users have an id.',
    { yes: 'they do', no: 'they do not' },
    'yes',
  ),
  'extra-fields': point(
    'Whether rows have undocumented fields.',
    { no: 'they do not', yes: 'currency, custom_fields and tags (users: password)' },
    'no',
  ),
  secrets: point(
    'Whether rows hold passwords, keys and card numbers below their fields.',
    {
      no: 'they do not',
      nested: 'in several spellings: in fields, objects, items and text that is JSON',
      wrapped: 'the same, and every tenth row of a list is a list with the row in it',
    },
    'no',
  ),
  none: point(
    'How a missing value is written.',
    {
      null: 'null',
      empty: 'an empty string',
      absent: 'the field is omitted',
      'zero-date': '0000-00-00 in date fields, otherwise null',
    },
    'null',
  ),
  undated: point(
    'Whether one in 50 invoices and transactions has no date (fixed at opening).',
    { no: 'all have a date', yes: 'some have none' },
    'no',
  ),
  numbers: point(
    'How numbers and ids are written.',
    {
      numbers: 'JSON numbers',
      strings: 'strings, amounts with at least two decimals',
      mixed: 'strings in every second row',
      'string-amounts': 'amounts as strings, other numbers as numbers',
      'string-ids': 'ids as strings, other numbers as numbers',
    },
    'numbers',
  ),
  lists: point(
    'How lists that are not empty are written, and the items of a row.',
    {
      array: 'JSON arrays',
      object: 'objects whose names are the positions: {"0": .., "1": ..}',
      gaps: 'objects whose names are positions with gaps: {"0": .., "2": ..}',
    },
    'array',
  ),
  charset: point(
    'The encoding of the JSON.',
    {
      'utf-8': 'UTF-8',
      latin1: 'ISO-8859-1, as the Content-Type says; other characters are escaped',
      broken: 'the Content-Type says UTF-8, but the letters from À to ÿ are sent as one byte each, as in ISO-8859-1',
    },
    'utf-8',
  ),
  digits: point(
    'The digits of amounts (fixed at opening).',
    { double: 'no more than a double holds', beyond: 'some have more than a double holds' },
    'double',
  ),
  timestamps: point(
    'How timestamps are written.',
    {
      z: '2026-01-15T10:00:00Z',
      micros: '2026-01-15T10:00:00.000000Z',
      zoneless: '2026-01-15 10:00:00',
      epoch: 'seconds since the epoch',
      'epoch-ms': 'milliseconds since the epoch',
    },
    'z',
  ),
  'new-ids': point(
    'The id of a new row (fixed at opening).',
    {
      fresh: 'greater than that of any row before',
      reissued: 'the lowest above those that exist, so that ids of deleted rows are issued again',
    },
    'fresh',
  ),
} as const;
