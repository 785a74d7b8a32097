import type { HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import type { z } from 'zod';
import type { Clock } from '../clock.ts';
import { readTarget, type Target } from './address.ts';
import { fail, html, invalid, succeed } from './answers.ts';
import { batchBody, type Creatable, completeRow, createBodies, customerBody, errorsOf, webhookBody } from './bodies.ts';
import { stampOf } from './calendar.ts';
import type { Data } from './data.ts';
import type { Edits } from './edits.ts';
import { type Faults, spoil } from './faults.ts';
import type { Gate } from './gate.ts';
import { type AnswerList, type Listed, listShapes } from './lists.ts';
import { renderRow, renderSums } from './render.ts';
import { financialReport } from './report.ts';
import type { Customer } from './rows.ts';
import type { Traffic } from './traffic.ts';
import type { Variants } from './variants.ts';
import type { Webhooks } from './webhooks.ts';

export interface AppParts {
  apiKey: string;
  clock: Clock;
  latencyMs: number;
  data: Data;
  edits: Edits;
  lists: AnswerList;
  gate: Gate;
  traffic: Traffic;
  faults: Faults;
  webhooks: Webhooks;
  /** The source's own time, in milliseconds since the epoch. */
  now(): number;
  variants(): Variants;
  /** Lets due changes happen before a request is answered. */
  catchUp(): void;
}

type Env = { Bindings: HttpBindings };

const MADE_UP_LISTS: readonly string[] = ['orders', 'suppliers', 'purchases'];

/** The API of the source: documented paths, and the documented envelope for everything else. */
export function createApp(parts: AppParts): Hono<Env> {
  const app = new Hono<Env>({ getPath: request => readTarget(request.url).path });
  guard(app, parts);
  serveLists(app, parts);
  serveCreates(app, parts);
  serveCustomers(app, parts);
  serveRest(app, parts);
  app.notFound(() => fail(404, 'Not found'));
  app.onError(() => fail(500, 'Server error'));
  return app;
}

/** What every request meets first: the count, the key, the limit, and what may go wrong. */
function guard(app: Hono<Env>, parts: AppParts): void {
  const { traffic, gate, clock } = parts;
  const variants = () => parts.variants();
  app.use('*', async (c, next) => {
    parts.catchUp();
    const target = readTarget(c.req.url);
    const arrivedAt = clock.now();
    const request = traffic.arrive(c.req.method, target.path, target.query.toString(), arrivedAt);
    const index = traffic.stats.total;
    if (parts.latencyMs > 0) await clock.sleep(parts.latencyMs);

    const known = keyOf(c, target) === parts.apiKey;
    const verdict = known ? gate.enter(arrivedAt) : gate.unknown(arrivedAt);
    const fault = known && verdict.allowed ? parts.faults.of(index, target.path) : undefined;
    if (fault === 'drop' || fault === 'hang') {
      if (fault === 'drop') c.env.incoming.destroy();
      return await new Promise<never>(() => {});
    }
    if (!known) c.res = fail(Number(variants()['auth-error']), 'Invalid API key or unauthorized access');
    else if (!verdict.allowed)
      c.res =
        variants()['rejected-body'] === 'html' ? html(429, '429 Too Many Requests') : fail(429, 'Too many requests');
    else await next();
    if (fault !== undefined) c.res = await spoil(fault, c.res);
    for (const [name, value] of Object.entries(gate.headers(verdict, arrivedAt))) c.res.headers.set(name, value);
    traffic.answer(request, c.res.status);
  });
}

function keyOf(c: Context<Env>, target: Target): string | undefined {
  return target.key ?? /^Bearer (.+)$/i.exec(c.req.header('authorization') ?? '')?.[1];
}

function serveLists(app: Hono<Env>, parts: AppParts): void {
  for (const resource of Object.keys(listShapes) as Listed[]) {
    app.get(`/api/v2/${resource}`, c => {
      const variants = parts.variants();
      const other = MADE_UP_LISTS.includes(resource) ? variants['other-lists'] : 'list';
      if (other === '404') return fail(404, 'Not found');
      if (other === '405') return fail(405, 'Method not allowed');
      return parts.lists(resource, readTarget(c.req.url).query, variants, parts.traffic.stats.total);
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
  const stamp = stampOf(Math.floor(parts.now() / 1000));
  const row = parts.edits.insert(resource, completeRow(resource, body, parts.data[resource].nextId, stamp));
  return renderRow(resource, row, parts.variants(), false);
}

function serveCustomers(app: Hono<Env>, parts: AppParts): void {
  const { data, edits } = parts;
  const variants = () => parts.variants();
  const path = '/api/v2/customers/:id{[0-9]+}';
  const missing = () => fail(404, 'Customer not found');
  const show = (row: Customer) => renderRow('customers', row, variants(), false);
  const find = (c: Context<Env>) => {
    const id = Number(c.req.param('id'));
    const seen = variants().visible === 'all' || (variants().visible === 'half' && id % 2 === 0);
    return seen ? data.customers.get(id) : undefined;
  };

  app.get(path, c => {
    const row = find(c);
    return row === undefined ? missing() : succeed(show(row));
  });
  app.put(path, async c => {
    const row = find(c);
    if (row === undefined) return missing();
    const raw = await readBody(c, customerBody.partial(), variants());
    if (raw instanceof Response) return raw;
    const given = await c.req.json<object>();
    // Only the fields that were sent: the schema fills the others with null.
    const patch = Object.fromEntries(Object.entries(raw).filter(([field]) => field in given));
    return succeed(show(edits.update('customers', row.id, patch) ?? row), 200, 'Updated');
  });
  app.delete(path, c => {
    const row = find(c);
    if (row === undefined) return missing();
    edits.remove('customers', row.id);
    return succeed({ id: row.id }, 200, 'Deleted');
  });
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
    return succeed(renderSums(financialReport(parts.data, year, month, variants.report), variants));
  });
  app.post('/api/v2/webhooks', async c => {
    const body = await readBody(c, webhookBody, parts.variants());
    return body instanceof Response ? body : succeed(parts.webhooks.register(body.url, body.events), 201, 'Registered');
  });
}

/** The checked body, or the answer that refuses it. */
async function readBody<S extends z.ZodType>(
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
