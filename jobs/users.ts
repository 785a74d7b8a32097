import { z } from 'zod';
import { defineJob, idRange, integer, text } from '../src/engine/job.ts';

export default defineJob({
  path: '/api/v2/users',
  schedule: '10 * * * *',
  description: 'A user of the source.',
  key: 'id',
  record: z.object({
    id: integer('The id at the source; null if it gives none.'),
    name: text('Name.'),
    email: text('E-mail address.'),
    role: text('What the user may do, as the source calls it.'),
  }),
  never: ['password'],
  slicings: [idRange()],
});
