import { z } from 'zod';
import { defineJob, idRange, integer, wholeRow } from '../src/engine/job.ts';

export default defineJob({
  path: '/api/v2/orders',
  key: 'id',
  record: z.object({ id: integer(), record: wholeRow() }),
  slicings: [idRange()],
});
