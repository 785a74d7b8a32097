import type { Hono } from 'hono';
import type { z } from 'zod';
import { SECOND } from '../../src/clock.ts';
import { stampOf } from '../data/calendar.ts';
import { mix } from '../data/random.ts';
import { success, validationFailure } from '../envelopes/responses.ts';
import { renderRow } from '../lists/render-row.ts';
import type { AppDependencies, Env } from './app-dependencies.ts';
import { readBody } from './read-body.ts';
import { batchBody, type Creatable, completeRow, createBodies, customerBody, errorsOf } from './request-bodies.ts';

const MOST_LATER_MS = 20 * SECOND;

/** Creates of single rows, and of customers in batches. */
export function addCreateRoutes(app: Hono<Env>, dependencies: AppDependencies): void {
  const { variants } = dependencies;
  for (const resource of Object.keys(createBodies) as Creatable[]) {
    app.post(`/api/v2/${resource}`, async c => {
      const body = await readBody(c, createBodies[resource], variants());
      if (body instanceof Response) return body;
      if (variants().creates === 'later')
        return createLater(dependencies, () => createRow(dependencies, resource, body));
      return success(createRow(dependencies, resource, body), 201, 'Created');
    });
  }
  app.post('/api/v2/batch/customers', async c => {
    const current = variants();
    const body = await readBody(c, batchBody, current);
    if (body instanceof Response) return body;
    const entries = body.customers.map(entry => customerBody.safeParse(entry));
    const errors = entries.flatMap((entry, index) =>
      entry.success
        ? []
        : Object.entries(errorsOf(entry.error)).map(([field, message]) => [`customers.${index}.${field}`, message]),
    );
    if (errors.length > 0 && current.batch === 'all')
      return validationFailure(Number(current.validation), Object.fromEntries(errors));
    const bodies = entries.flatMap(entry => (entry.success ? [entry.data] : []));
    const create = () => bodies.map(each => createRow(dependencies, 'customers', each));
    if (current.creates === 'later') return createLater(dependencies, create);
    if (current.batch === 'silent') return success({ created: create().length }, 201);
    const results = entries.map((entry, index) =>
      entry.success
        ? { index, success: true, data: createRow(dependencies, 'customers', entry.data) }
        : { index, success: false, errors: errorsOf(entry.error) },
    );
    return success(results, 201);
  });
}

/** Rows appear in another order than they were sent in. */
function createLater({ timeline, log }: AppDependencies, create: () => unknown): Response {
  timeline.defer(SECOND + (mix(log.stats.total, 0x1a7e) % (MOST_LATER_MS - SECOND + 1)), create);
  return success({}, 202, 'Accepted');
}

function createRow<R extends Creatable>(
  { timeline, variants }: AppDependencies,
  resource: R,
  body: z.infer<(typeof createBodies)[R]>,
): object {
  const stamp = stampOf(Math.floor(timeline.now() / SECOND));
  const { data, edits } = timeline.dataset();
  const row = edits.insert(resource, completeRow(resource, body, data[resource].nextId, stamp));
  return renderRow(resource, row, variants(), false);
}
