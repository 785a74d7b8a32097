import type { World } from './world.ts';

/** Pays an invoice and changes its date, so that it leaves two slices at once. */
export function changeTwice({ sandbox, random, edits }: World): void {
  const open = [...sandbox.rows('invoices')].filter(row => row.status === 'Unpaid');
  if (open.length === 0) return;
  const date = `${random.int(2021, 2025)}-06-15`;
  const { id } = random.pick(open);
  sandbox.update('invoices', id, { status: 'Paid', date });
  edits.push({ resource: 'invoices', id, at: sandbox.now() });
}

/** Random changes to all lists that the seed reads. */
export function change({ sandbox, plan }: World, count: number): void {
  sandbox.changeRandom(count);
  if (plan.others.length > 0) sandbox.changeOthers(count);
}

/** Restores a row that was deleted, if there is one. */
export function restoreOne({ sandbox, random, edits }: World): void {
  const removed = sandbox.changes.filter(change => change.kind.endsWith('-deleted'));
  if (removed.length === 0) return;
  const { resource, id } = random.pick(removed);
  sandbox.restore(resource, id);
  edits.push({ resource, id, at: sandbox.now() });
}
