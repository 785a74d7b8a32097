import { z } from 'zod';
import { decimal, defineJob, idRange, integer, text } from '../src/engine/job.ts';

export default defineJob({
  path: '/api/v2/products',
  schedule: '5 * * * *',
  description: 'A product or a service.',
  key: 'id',
  record: z.object({
    id: integer('The id at the source; null if it gives none.'),
    name: text('Name.'),
    price: decimal('Price.'),
    description: text('Description.'),
    type: text('service for a service.'),
    tax_rate: decimal('Tax rate, as the source reports it.'),
  }),
  slicings: [idRange()],
});
