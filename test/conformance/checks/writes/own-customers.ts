import { randomUUID } from 'node:crypto';
import { SluiceError } from '../../../../src/errors.ts';
import { pathOf } from '../../lists/documented-lists.ts';
import type { Answer, Row } from '../../requests/send-request.ts';
import { saysGone } from './deleted-customer.ts';
import type { SettledRequests } from './settled-requests.ts';

/** What the run changed at the installation. */
export interface Written {
  /** Each created customer, as `customer 17 (conformance ..)`. */
  readonly created: string[];
  /** Those that may still exist, and the possible results of creates that returned no id. */
  readonly left: string[];
  /** Customers whose ids answers to a create returned, but whose names are not ours; they are neither changed nor deleted. */
  readonly notOurs: string[];
}

/** The customers that one run creates, identified by their names. */
export interface OwnCustomers {
  /** The prefix of their names. */
  readonly mark: string;
  /** Sends a create, without retries. Errors of kind `unavailable`: no answer, or the key may not create. */
  create(body: unknown, path?: string): Promise<Answer>;
  /** Those that a search by name finds. */
  search(): Promise<Row[]>;
  /** Deletes all customers with our names, and returns what the address of a deleted one answers, or null. Never rejects. */
  removeAll(): Promise<Answer | null>;
}

export const CUSTOMERS = pathOf('customers');

/** Starts without customers; `written` records what happens to them. */
export function createOwnCustomers(requests: SettledRequests, written: Written): OwnCustomers {
  const mark = `conformance ${randomUUID().slice(0, 8)}`;
  const ids = new Set<string>();
  /** Whether the last create may have created a customer that is not in `ids`. */
  let unsure = false;
  const isOwn = (row: unknown) => String((row as Row | null | undefined)?.account).startsWith(mark);
  const note = (data: unknown) => {
    for (const id of idsIn(data)) ids.add(id);
  };

  async function findMarked(): Promise<Row[]> {
    const { rows = [] } = await requests.read(CUSTOMERS, { query: { search: mark, page: 1, limit: 20 } });
    const ours = rows.filter(isOwn);
    note(ours);
    return ours;
  }

  /** Searches for the customer of the last create, if its answer had no id. */
  async function findUnnamed(): Promise<void> {
    if (!unsure) return;
    unsure = false;
    const known = ids.size;
    // A failed search finds nothing, which is recorded below.
    await findMarked().catch(() => undefined);
    if (ids.size === known) written.left.push(`perhaps a customer named "${mark} ..", whose id no answer returned`);
  }

  return {
    mark,
    async create(body, path = CUSTOMERS) {
      await findUnnamed();
      unsure = true;
      const answer = await requests.write(path, { method: 'POST', body, expect: 'any' });
      const { verdict, status, data } = answer;
      note(data);
      if (verdict.kind === 'retry') throw new SluiceError('unavailable', `POST ${path}: ${verdict.what}`);
      unsure = verdict.kind === 'success' && idsIn(data).length === 0;
      if (verdict.kind === 'unauthorized' || (verdict.kind === 'refused' && status === 403))
        throw new SluiceError('unavailable', `this key may not create customers: HTTP ${status}`);
      return answer;
    },
    async search() {
      const rows = await findMarked();
      // A search that finds some of our customers finds all of them.
      if (rows.length > 0) unsure = false;
      return rows;
    },
    async removeAll() {
      await findUnnamed();
      let shown: Answer | null = null;
      for (const id of ids) {
        const outcome = await removeIfOwn(requests, id, isOwn);
        if (typeof outcome === 'object') shown = outcome;
        if (outcome === 'not ours') written.notOurs.push(`customer ${id}, whose name does not start with "${mark}"`);
        else written.created.push(`customer ${id} (${mark})`);
        if (outcome === 'left') written.left.push(`customer ${id} (${mark})`);
      }
      return shown;
    },
  };
}

/**
 * Returns what the address answers once the customer is deleted. An answer may contain the id of an existing customer, e.g. if an
 * address is taken; only the name proves that one is ours.
 */
async function removeIfOwn(
  requests: SettledRequests,
  id: string,
  isOwn: (row: unknown) => boolean,
): Promise<Answer | 'left' | 'not ours'> {
  const path = `${CUSTOMERS}/${encodeURIComponent(id)}`;
  const read = () => requests.read(path, { expect: 'record' });
  try {
    const before = await read();
    if (before.verdict.kind !== 'success' || saysGone(before)) return 'left';
    if (!isOwn(before.data)) return 'not ours';
    const { verdict } = await requests.write(path, { method: 'DELETE', expect: 'any' });
    if (verdict.kind !== 'success' && verdict.kind !== 'gone') return 'left';
    // A delete counts only if reading the customer confirms it.
    const after = await read();
    return saysGone(after) ? after : 'left';
  } catch {
    // The other customers must still be deleted.
    return 'left';
  }
}

/** The ids of the records in an answer, including records wrapped in a result. */
export function idsIn(data: unknown): string[] {
  if (Array.isArray(data)) return data.flatMap(idsIn);
  if (typeof data !== 'object' || data === null) return [];
  const { id, data: inner, customer } = data as { id?: unknown; data?: unknown; customer?: unknown };
  if (typeof id === 'number' || typeof id === 'string') return [String(id)];
  return idsIn(inner ?? customer);
}
