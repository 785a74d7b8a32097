import { randomUUID } from 'node:crypto';
import { SluiceError } from '../../../src/errors.ts';
import { pathOf } from '../lists/documented-lists.ts';
import type { Asker } from '../requests/requester.ts';
import type { Answer, Row } from '../requests/send-request.ts';

/** What the suite did to the installation. */
export interface Written {
  /** Each customer that was created, as `customer 17 (conformance ..)`. */
  readonly created: string[];
  /** Those of them that may still be there, and what may have come of a create that named nothing. */
  readonly left: string[];
  /** Customers that answers to a create named, and whose names are not ours: they are neither changed nor deleted. */
  readonly notOurs: string[];
}

/** The customers that one run creates. By their names they are told from all others. */
export interface OwnCustomers {
  /** What each of their names begins with. */
  readonly mark: string;
  /** A create, which is never repeated. Kind `unavailable` where no answer came, or the key may not create. */
  create(body: unknown, path?: string): Promise<Answer>;
  /** Those that the source finds by their names. */
  search(): Promise<Row[]>;
  /** Deletes all that are ours by their names. Never rejects. */
  removeAll(): Promise<void>;
}

export const CUSTOMERS = pathOf('customers');

/** Begins with none. What becomes of them is told in `written`. */
export function createOwnCustomers(asker: Asker, written: Written): OwnCustomers {
  const mark = `conformance ${randomUUID().slice(0, 8)}`;
  const ids = new Set<string>();
  /** What was created may be more than what is in `ids`. */
  let unsure = false;
  const isOurs = (row: unknown) => String((row as Row | null | undefined)?.account).startsWith(mark);
  const note = (data: unknown) => {
    for (const id of idsIn(data)) ids.add(id);
  };
  const addressOf = (id: string) => `${CUSTOMERS}/${encodeURIComponent(id)}`;
  const read = (id: string) => asker.ask(addressOf(id), { expect: 'one' });

  async function findMarked(): Promise<Row[]> {
    const { rows = [] } = await asker.ask(CUSTOMERS, { query: { search: mark, page: 1, limit: 20 } });
    const ours = rows.filter(isOurs);
    note(ours);
    return ours;
  }

  /** Looks for what the last create may have made, where its answer named nothing. */
  async function findLost(): Promise<void> {
    if (!unsure) return;
    unsure = false;
    const known = ids.size;
    // A search that fails has found nothing, and that is told.
    await findMarked().catch(() => undefined);
    if (ids.size === known) written.left.push(`perhaps a customer named "${mark} ..", which no answer named`);
  }

  /** An answer may name a customer that was there before, as where an address is taken: only the name proves one ours. */
  async function remove(id: string): Promise<'removed' | 'left' | 'not ours'> {
    try {
      const before = await read(id);
      if (before.verdict.kind !== 'success') return 'left';
      if (!isOurs(before.data)) return 'not ours';
      const { verdict } = await asker.ask(addressOf(id), { method: 'DELETE', expect: 'any' });
      if (verdict.kind !== 'success' && verdict.kind !== 'gone') return 'left';
      // A delete is believed only when the customer is seen to be gone.
      return (await read(id)).verdict.kind === 'gone' ? 'removed' : 'left';
    } catch {
      // Whatever went wrong with this one, the others are still to be deleted.
      return 'left';
    }
  }

  return {
    mark,
    async create(body, path = CUSTOMERS) {
      await findLost();
      unsure = true;
      const answer = await asker.ask(path, { method: 'POST', body, expect: 'any' });
      const { verdict, status, data } = answer;
      note(data);
      if (verdict.kind === 'retry') throw new SluiceError('unavailable', `POST ${path}: ${verdict.what}`);
      unsure = verdict.kind === 'success' && idsIn(data).length === 0;
      if (verdict.kind === 'unauthorized')
        throw new SluiceError('unavailable', `this key may not create customers: HTTP ${status}`);
      return answer;
    },
    async search() {
      const rows = await findMarked();
      // A search that shows some of ours shows all that there are.
      if (rows.length > 0) unsure = false;
      return rows;
    },
    async removeAll() {
      await findLost();
      for (const id of ids) {
        const became = await remove(id);
        if (became === 'not ours') written.notOurs.push(`customer ${id}, which is not named "${mark} .."`);
        else written.created.push(`customer ${id} (${mark})`);
        if (became === 'left') written.left.push(`customer ${id} (${mark})`);
      }
    },
  };
}

/** Ids of the records in an answer, also where each is wrapped in a result of its own. */
export function idsIn(data: unknown): string[] {
  if (Array.isArray(data)) return data.flatMap(idsIn);
  if (typeof data !== 'object' || data === null) return [];
  const { id, data: inner, customer } = data as { id?: unknown; data?: unknown; customer?: unknown };
  if (typeof id === 'number' || typeof id === 'string') return [String(id)];
  return idsIn(inner ?? customer);
}
