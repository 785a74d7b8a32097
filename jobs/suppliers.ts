import { z } from 'zod';
import { defineJob, idRange, integer, wholeRow } from '../src/engine/job.ts';

export default defineJob({
  path: '/api/v2/suppliers',
  schedule: '15 * * * *',
  description: 'A supplier, kept whole: the documentation of the source shows no fields.',
  key: 'id',
  record: z.object({ id: integer('The id at the source; null if it gives none.'), record: wholeRow() }),
  slicings: [idRange()],
});
