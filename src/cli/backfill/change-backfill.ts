import { SluiceError } from '../../errors.ts';
import { allows, CHANGES, changeOrder, type OrderChange } from '../../service/orders/order-requests.ts';
import { isServiceRunning } from '../run/running-service.ts';
import type { Session } from '../session/session.ts';
import { findBackfills } from './list-backfills.ts';

/** Pauses, resumes or cancels a backfill: the one with this id or, without an id, the only one in a state that allows it. */
export async function changeBackfill(session: Session, given: string | undefined, change: OrderChange): Promise<0> {
  const { terminal } = session;
  const { database, orders } = await findBackfills(session);
  const open = orders.filter(order => allows(order, change));
  const only = open.length === 1 ? open[0] : undefined;
  const order = given === undefined ? only : open.find(each => each.id === given);
  const { to } = CHANGES[change];
  if (!order || !(await changeOrder(database, order, change))) {
    const ids = open.map(each => each.id);
    throw noSuchBackfill(change, given, ids);
  }
  const { id, source, resource } = order;
  const service = await isServiceRunning(database, source);
  terminal.show({ order: Number(id), resource, state: to, service }, () => {
    if (to === 'paused') return `Backfill ${id} of ${resource} is paused. To continue: sluice backfill resume ${id}`;
    if (to === 'cancelled') return `Backfill ${id} of ${resource} is cancelled; rows already read are kept.`;
    const reader = service
      ? 'the running service reads it.'
      : 'read it with sluice start or the same backfill command.';
    return `Backfill ${id} of ${resource} is resumed; ${reader}`;
  });
  return 0;
}

function noSuchBackfill(action: string, given: string | undefined, ids: readonly string[]): SluiceError {
  if (given === undefined && ids.length > 0)
    return new SluiceError('usage', `There are several backfills to ${action}.`, {
      next: `Name one: ${ids.join(', ')}.`,
    });
  const message =
    given === undefined ? `There is no backfill to ${action}.` : `There is no backfill ${given} to ${action}.`;
  return new SluiceError('usage', message, {
    next:
      ids.length === 0 ? 'To see all backfills: sluice backfill list' : `Backfills to ${action}: ${ids.join(', ')}.`,
  });
}
