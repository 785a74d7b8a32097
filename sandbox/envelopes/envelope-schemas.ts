import { z } from 'zod';
import { undocumented } from '../data/rows.ts';

// The schemas of the envelopes that responses.ts builds, for the OpenAPI description.

const meta = z
  .object({ current_page: z.int(), total_pages: z.int(), total_records: z.int() })
  .meta({ id: 'Meta', description: 'Pagination metadata' });

export function successEnvelope(data: z.ZodType): z.ZodType {
  return z.object({ success: z.literal(true), data, message: z.string().optional() });
}

/** `paged`: the document says that the list is paged. The other lists have the same metadata here, marked as undocumented. */
export function listEnvelope(row: z.ZodType, paged: boolean): z.ZodType {
  return z.object({
    success: z.literal(true),
    data: z.array(row),
    meta: paged ? meta : meta.meta(undocumented('whether the list has any')),
  });
}

export const errorEnvelope = z
  .object({ success: z.literal(false), message: z.string() })
  .meta({ id: 'Error', description: 'An error without an errors object' });

export const validationEnvelope = z
  .object({
    success: z.literal(false),
    errors: z.record(z.string(), z.string()).meta({ description: 'Maps a field to a message' }),
    message: z.literal('Validation failed'),
  })
  .meta({ id: 'ValidationError' });
