import type { html } from 'hono/html';

/** A piece of a page whose values are escaped. */
export type Html = ReturnType<typeof html>;
