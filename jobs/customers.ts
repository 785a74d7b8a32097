import { z } from 'zod';
import { defineJob, idRange, integer, one, text, timestamp } from '../src/engine/job.ts';

export default defineJob({
  path: '/api/v2/customers',
  description: 'A customer.',
  key: 'id',
  withoutKey: 'quarantine',
  record: z.object({
    id: integer('The id at the source.'),
    account: text('Name of the person or company.'),
    email: text('E-mail address.'),
    phone: text('Phone number, as it was typed.'),
    address: text('Street and number.'),
    city: text('City.'),
    state: text('State or province.'),
    zip: text('Postal code.'),
    country: text('Country, as the source writes it.'),
    created_at: timestamp('When it was created, as the source reports it.'),
    updated_at: timestamp('When it was last changed, as the source reports it.'),
  }),
  updatedAt: 'updated_at',
  slicings: [idRange(), one('/api/v2/customers/{key}')],
});
