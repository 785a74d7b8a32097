import { z } from 'zod';
import { defineJob, idRange, integer, text } from '../src/engine/job.ts';

export default defineJob({
  path: '/api/v2/users',
  schedule: '10 * * * *',
  key: 'id',
  record: z.object({ id: integer(), name: text(), email: text(), role: text() }),
  never: ['password'],
  slicings: [idRange()],
});
