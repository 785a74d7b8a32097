import type { Context } from 'hono';
import type { z } from 'zod';
import { validationFailure } from '../envelopes/responses.ts';
import type { Variants } from '../variants/variants.ts';
import type { Env } from './app-dependencies.ts';
import { errorsOf } from './request-bodies.ts';

/** The validated body, or the response that rejects it. */
export async function readBody<S extends z.ZodType>(
  c: Context<Env>,
  schema: S,
  variants: Variants,
): Promise<z.infer<S> | Response> {
  let body: unknown;
  try {
    body = await c.req.json();
  } catch {
    return validationFailure(Number(variants.validation), { body: 'The body is not JSON' });
  }
  const parsed = schema.safeParse(body);
  return parsed.success ? parsed.data : validationFailure(Number(variants.validation), errorsOf(parsed.error));
}
