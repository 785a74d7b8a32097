import type { Context, Hono } from 'hono';
import type { Customer } from '../data/rows.ts';
import { failure, success } from '../envelopes/responses.ts';
import { ownId } from '../lists/edge-ids.ts';
import { isVisible } from '../lists/ordering.ts';
import { renderRow } from '../lists/render-row.ts';
import type { AppDependencies, Env } from './app-dependencies.ts';
import { readBody } from './read-body.ts';
import { customerBody } from './request-bodies.ts';

/** Reads, changes and deletes one customer by its id. */
export function addCustomerRoutes(app: Hono<Env>, { timeline, variants, addFields }: AppDependencies): void {
  const path = '/api/v2/customers/:id{[0-9]+}';
  const notFound = () => failure(404, 'Customer not found');
  const render = (row: Customer) => addFields('customers', row, renderRow('customers', row, variants(), false));
  const idOf = (c: Context<Env>) => ownId(c.req.param('id') ?? '', variants());
  const find = (c: Context<Env>, lagMs = 0) => {
    const id = idOf(c);
    return isVisible(variants(), id) ? timeline.readBehind(lagMs, ({ data }) => data.customers.get(id)) : undefined;
  };

  const missing = (id: number) => {
    const { customers } = timeline.dataset().data;
    const gone = customers.removed(id);
    const form = variants()['deleted-address'];
    if (form === '500') return failure(500, 'Internal server error');
    if (form === '301') return new Response(null, { status: 301, headers: { location: '/api/v2/customers' } });
    const [other] = customers.select({});
    if (form === 'merged' && other !== undefined) return success(render(customers.at(other)));
    if (form === 'unmarked' && gone) return success(render(gone));
    if (form === 'archived' && gone) return success({ ...render(gone), archivedOn: '2026-01-01', status: 'Archived' });
    switch (variants()['deleted-customer']) {
      case 'null':
        return Response.json({ success: true, data: null });
      case 'not-found':
        return failure(200, 'Customer not found');
      case '400':
        return failure(400, 'Invalid customer');
      case 'marked':
        return gone === undefined ? notFound() : success({ ...render(gone), deleted_at: '2026-01-01T00:00:00Z' });
      case '404':
        return notFound();
    }
  };

  app.get(path, c => {
    const address = variants()['customer-address'];
    if (address !== 'works') return address === '404' ? notFound() : failure(403, 'Unauthorized access');
    const row = find(c, c.get('lagMs'));
    return row === undefined ? missing(idOf(c)) : success(render(row));
  });
  app.put(path, async c => {
    const row = find(c);
    if (row === undefined) return notFound();
    const body = await readBody(c, customerBody.partial(), variants());
    if (body instanceof Response) return body;
    const sent = await c.req.json<object>();
    // Only the fields that were sent: the schema sets the others to null.
    const patch = Object.fromEntries(Object.entries(body).filter(([field]) => field in sent));
    const { edits } = timeline.dataset();
    return success(render(edits.update('customers', row.id, patch) ?? row), 200, 'Updated');
  });
  app.delete(path, c => {
    const row = find(c);
    if (row === undefined) return notFound();
    timeline.dataset().edits.remove('customers', row.id);
    return success({ id: row.id }, 200, 'Deleted');
  });
}
