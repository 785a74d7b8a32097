import { html } from 'hono/html';
import { count } from '../../format.ts';
import type { FullState } from '../../status/source-state.ts';
import type { Html } from '../layout/html.ts';
import { ago, type Now } from '../parts/age.ts';
import { meter } from '../parts/meter.ts';

/** Orders that have not ended, with their progress. */
export function orderSection({ orders }: FullState, now: Now): Html | Html[] {
  if (orders.length === 0) return html`<p class="soft">None under way.</p>`;
  return orders.map(({ id, kind, resource, state, progress: { proven, slices }, createdAt }) => {
    const text = `${count(proven)} of ${count(slices)} slices proven`;
    return html`<p><a href="/orders/${id}">Order ${id}</a>: ${kind} of ${resource}, ${state}, created ${ago(createdAt, now)}</p>${meter([{ name: '', colour: 'q5', value: proven }], slices, text)}<p class="soft">${text}</p>`;
  });
}
