import { Hono } from 'hono';
import type { z } from 'zod';
import { SECOND } from '../../clock.ts';
import { stampOf } from '../data/calendar.ts';
import { fail, invalid, succeed } from '../envelopes/responses.ts';
import { type Listed, listShapes } from '../lists/answer-list.ts';
import { financialReport } from '../lists/financial-report.ts';
import { renderRow, renderSums } from '../lists/render-row.ts';
import type { AppParts, Env } from './app-dependencies.ts';
import { serveCustomers } from './customer-routes.ts';
import { describeApi } from './describe-api.ts';
import { guard } from './middleware.ts';
import { readBody } from './read-body.ts';
import {
  batchBody,
  type Creatable,
  completeRow,
  createBodies,
  customerBody,
  errorsOf,
  webhookBody,
} from './request-bodies.ts';
import { readTarget } from './request-target.ts';

/** The API of the source: documented paths, and the documented envelope for everything else. */
export function createApp(parts: AppParts): Hono<Env> {
  const app = new Hono<Env>({ getPath: request => readTarget(request.url).path });
  // Not part of the API, so neither key nor limit stands before it.
  app.get('/openapi.json', () => Response.json(describeApi()));
  guard(app, parts);
  serveLists(app, parts);
  serveCreates(app, parts);
  serveCustomers(app, parts);
  serveRest(app, parts);
  app.notFound(() => fail(404, 'Not found'));
  app.onError(error => {
    parts.traffic.stumble(error);
    return fail(500, 'Server error');
  });
  return app;
}

function serveLists(app: Hono<Env>, parts: AppParts): void {
  for (const resource of Object.keys(listShapes) as Listed[]) {
    app.get(`/api/v2/${resource}`, c => {
      const variants = parts.variants();
      const other = listShapes[resource].madeUp ? variants['other-lists'] : 'list';
      if (other === '404') return fail(404, 'Not found');
      if (other === '405') return fail(405, 'Method not allowed');
      const { query } = readTarget(c.req.url);
      return parts.world().lists(resource, query, variants, { salt: parts.traffic.stats.total, fault: c.get('fault') });
    });
  }
}

function serveCreates(app: Hono<Env>, parts: AppParts): void {
  for (const resource of Object.keys(createBodies) as Creatable[]) {
    app.post(`/api/v2/${resource}`, async c => {
      const body = await readBody(c, createBodies[resource], parts.variants());
      return body instanceof Response ? body : succeed(create(parts, resource, body), 201, 'Created');
    });
  }
  app.post('/api/v2/batch/customers', async c => {
    const variants = parts.variants();
    const body = await readBody(c, batchBody, variants);
    if (body instanceof Response) return body;
    const entries = body.customers.map(entry => customerBody.safeParse(entry));
    const wrong = entries.flatMap((entry, index) =>
      entry.success
        ? []
        : Object.entries(errorsOf(entry.error)).map(([field, message]) => [`customers.${index}.${field}`, message]),
    );
    if (wrong.length > 0 && variants.batch === 'all')
      return invalid(Number(variants.validation), Object.fromEntries(wrong));
    const results = entries.map((entry, index) =>
      entry.success
        ? { index, success: true, data: create(parts, 'customers', entry.data) }
        : { index, success: false, errors: errorsOf(entry.error) },
    );
    return succeed(results, 201);
  });
}

function create<R extends Creatable>(parts: AppParts, resource: R, body: z.infer<(typeof createBodies)[R]>): object {
  const stamp = stampOf(Math.floor(parts.now() / SECOND));
  const { data, edits } = parts.world();
  const row = edits.insert(resource, completeRow(resource, body, data[resource].nextId, stamp));
  return renderRow(resource, row, parts.variants(), false);
}

function serveRest(app: Hono<Env>, parts: AppParts): void {
  app.get('/api/v2/reports/financial', c => {
    const { query } = readTarget(c.req.url);
    const variants = parts.variants();
    if (variants.report === 'absent') return fail(404, 'Not found');
    const year = Number(query.get('year') || new Date(parts.now()).getUTCFullYear());
    const month = query.get('month') ? Number(query.get('month')) : undefined;
    const errors: Record<string, string> = {};
    if (!Number.isInteger(year) || year < 1000 || year > 9998) errors.year = 'Invalid year';
    if (month !== undefined && !(Number.isInteger(month) && month >= 1 && month <= 12)) errors.month = 'Invalid month';
    if (Object.keys(errors).length > 0) return invalid(Number(variants.validation), errors);
    return succeed(renderSums(financialReport(parts.world().data, year, month, variants.report), variants));
  });
  app.post('/api/v2/webhooks', async c => {
    const body = await readBody(c, webhookBody, parts.variants());
    return body instanceof Response ? body : succeed(parts.webhooks.register(body.url, body.events), 201, 'Registered');
  });
}
