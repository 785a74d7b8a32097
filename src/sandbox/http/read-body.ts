import type { Context } from 'hono';
import type { z } from 'zod';
import { invalid } from '../envelopes/responses.ts';
import type { Variants } from '../variants/variants.ts';
import type { Env } from './app-dependencies.ts';
import { errorsOf } from './request-bodies.ts';

/** The checked body, or the answer that refuses it. */
export async function readBody<S extends z.ZodType>(
  c: Context<Env>,
  schema: S,
  variants: Variants,
): Promise<z.infer<S> | Response> {
  let given: unknown;
  try {
    given = await c.req.json();
  } catch {
    return invalid(Number(variants.validation), { body: 'The body is not JSON' });
  }
  const parsed = schema.safeParse(given);
  return parsed.success ? parsed.data : invalid(Number(variants.validation), errorsOf(parsed.error));
}
