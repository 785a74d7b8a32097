import { Hono } from 'hono';
import { failure, success, validationFailure } from '../envelopes/responses.ts';
import { financialReport } from '../lists/financial-report.ts';
import { listedResources, listShapes } from '../lists/list-shapes.ts';
import { renderSums } from '../lists/render-row.ts';
import type { AppDependencies, Env } from './app-dependencies.ts';
import { addCreateRoutes } from './create-routes.ts';
import { addCustomerRoutes } from './customer-routes.ts';
import { describeApi } from './describe-api.ts';
import { addMiddleware } from './middleware.ts';
import { readBody } from './read-body.ts';
import { webhookBody } from './request-bodies.ts';
import { parseTarget } from './request-target.ts';
import { createCountCache } from './stale-answers.ts';

/** The API of the source: the documented paths, and an error envelope for everything else. */
export function createApp(dependencies: AppDependencies): Hono<Env> {
  const app = new Hono<Env>({ getPath: request => parseTarget(request.url).path });
  // Added before the middleware: the description is not part of the API and needs no key.
  app.get('/openapi.json', () => Response.json(describeApi()));
  addMiddleware(app, dependencies);
  addListRoutes(app, dependencies);
  addCreateRoutes(app, dependencies);
  addCustomerRoutes(app, dependencies);
  addReportRoute(app, dependencies);
  addWebhookRoute(app, dependencies);
  app.notFound(() => failure(404, 'Not found'));
  app.onError(error => {
    dependencies.log.recordFailure(error);
    return failure(500, 'Server error');
  });
  return app;
}

function addListRoutes(app: Hono<Env>, { timeline, variants, log, badDay, addFields, clock }: AppDependencies): void {
  const kept = createCountCache();
  for (const resource of listedResources) {
    app.get(`/api/v2/${resource}`, c => {
      const current = variants();
      const offered = listShapes[resource].invented ? current['other-lists'] : 'list';
      if (offered === '404') return failure(404, 'Not found');
      if (offered === '405') return failure(405, 'Method not allowed');
      if (current.forbidden === resource) return failure(403, denialOf(resource));
      const [failing, status] = current['failing-list'].split('-');
      if (failing === resource) return failure(Number(status), status === '404' ? 'Not found' : 'Bad request');
      const { query } = parseTarget(c.req.url);
      const lagMs = c.get('lagMs');
      const countOf = (filter: string, count: number) =>
        current['count-age'] === 'none' ? count : kept(`${resource} ${filter}`, count, clock.now());
      const at = { salt: log.stats.total, fault: c.get('fault'), renderNow: lagMs > 0, badDay: badDay() };
      const request = { ...at, addFields, countOf };
      return timeline.readBehind(lagMs, dataset => dataset.answerList(resource, query, current, request));
    });
  }
}

/** Services word this differently, and some name the key although it is right. */
const denialOf = (resource: string): string =>
  [
    `You do not have permission to view ${resource}`,
    'Your API key does not have the required permission',
    `Token scope required: ${resource}.read`,
    `Unauthorized to view ${resource}`,
  ][resource.length % 4] as string;

function addReportRoute(app: Hono<Env>, { timeline, variants }: AppDependencies): void {
  app.get('/api/v2/reports/financial', c => {
    const { query } = parseTarget(c.req.url);
    const current = variants();
    if (current.report === 'absent') return failure(404, 'Not found');
    const year = Number(query.get('year') || new Date(timeline.now()).getUTCFullYear());
    const month = query.get('month') ? Number(query.get('month')) : undefined;
    const errors: Record<string, string> = {};
    if (!Number.isInteger(year) || year < 1000 || year > 9998) errors.year = 'Invalid year';
    if (month !== undefined && !(Number.isInteger(month) && month >= 1 && month <= 12)) errors.month = 'Invalid month';
    if (Object.keys(errors).length > 0) return validationFailure(Number(current.validation), errors);
    const report = current.report;
    const sums = timeline.readBehind(c.get('lagMs'), ({ data }) => financialReport(data, year, month, report));
    return success(renderSums(sums, current));
  });
}

function addWebhookRoute(app: Hono<Env>, { webhooks, variants }: AppDependencies): void {
  app.post('/api/v2/webhooks', async c => {
    const body = await readBody(c, webhookBody, variants());
    return body instanceof Response ? body : success(webhooks.register(body.url, body.events), 201, 'Registered');
  });
}
