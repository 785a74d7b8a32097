import type { Context, Hono } from 'hono';
import type { Customer } from '../data/rows.ts';
import { fail, succeed } from '../envelopes/responses.ts';
import { renderRow } from '../lists/render-row.ts';
import type { AppParts, Env } from './app-dependencies.ts';
import { readBody } from './read-body.ts';
import { customerBody } from './request-bodies.ts';

/** One customer by its id: read, change, delete. */
export function serveCustomers(app: Hono<Env>, parts: AppParts): void {
  const variants = () => parts.variants();
  const path = '/api/v2/customers/:id{[0-9]+}';
  const missing = () => fail(404, 'Customer not found');
  const show = (row: Customer) => renderRow('customers', row, variants(), false);
  const find = (c: Context<Env>) => {
    const id = Number(c.req.param('id'));
    const seen = variants().visible === 'all' || (variants().visible === 'half' && id % 2 === 0);
    return seen ? parts.world().data.customers.get(id) : undefined;
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
    return succeed(show(parts.world().edits.update('customers', row.id, patch) ?? row), 200, 'Updated');
  });
  app.delete(path, c => {
    const row = find(c);
    if (row === undefined) return missing();
    parts.world().edits.remove('customers', row.id);
    return succeed({ id: row.id }, 200, 'Deleted');
  });
}
