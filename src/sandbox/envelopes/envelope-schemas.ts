import { z } from 'zod';
import { undocumented } from '../data/rows.ts';

/** The shapes around every payload, as answers.ts makes them. */

const meta = z
  .object({ current_page: z.int(), total_pages: z.int(), total_records: z.int() })
  .meta({ id: 'Meta', description: 'Pagination metadata' });

export function successOf(data: z.ZodType): z.ZodType {
  return z.object({ success: z.literal(true), data, message: z.string().optional() });
}

/** `paged`: whether the list is documented to be paged; all others are by default here. */
export function listOf(row: z.ZodType, paged: boolean): z.ZodType {
  return z.object({
    success: z.literal(true),
    data: z.array(row),
    meta: paged ? meta : meta.meta(undocumented('whether there is any')),
  });
}

export const errorEnvelope = z
  .object({ success: z.literal(false), message: z.string() })
  .meta({ id: 'Error', description: 'No errors object goes with it' });

export const validationEnvelope = z
  .object({
    success: z.literal(false),
    errors: z.record(z.string(), z.string()).meta({ description: 'Field name to message' }),
    message: z.literal('Validation failed'),
  })
  .meta({ id: 'ValidationError' });
