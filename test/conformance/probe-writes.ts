import { randomUUID } from 'node:crypto';
import { isKind, SluiceError } from '../../src/errors.ts';
import type { Asker } from './ask.ts';
import { type Finding, strange, told, untold } from './finding.ts';
import { pathOf } from './lists.ts';
import type { Answer, Question, Row } from './send.ts';

/** What the suite did to the installation. */
export interface Written {
  /** Each customer that was created, as `customer 17 (conformance ..)`. */
  readonly created: string[];
  /** Those of them that may still be there, and what may have come of a create without an answer. */
  readonly left: string[];
}

/** Requests that writing may take, undoing it included: it is not begun with fewer. */
export const WRITES = 22;
const PATH = pathOf('customers');
const WRONG_EMAIL = 'no e-mail address';

/**
 * Creates a customer, changes and deletes it; asks for one with a wrong address, and for a batch of a good and a wrong one. All
 * it creates has a name of its own and is deleted again, whatever happens in between.
 */
export async function probeWrites(asker: Asker, written: Written): Promise<Finding[]> {
  const mark = `conformance ${randomUUID().slice(0, 8)}`;
  const ids = new Set<string>();
  let unsure = false;
  const note: Note = data => {
    for (const id of idsIn(data).filter(each => !ids.has(each))) {
      ids.add(id);
      written.created.push(`customer ${id} (${mark})`);
    }
  };
  const make: Make = async (body, path = PATH) => {
    unsure = true;
    const answer = await asker.ask(path, { method: 'POST', body, expect: 'any' });
    if (answer.verdict.kind === 'retry') throw new SluiceError('unavailable', `POST ${path}: ${answer.verdict.what}`);
    unsure = false;
    if (answer.verdict.kind === 'unauthorized')
      throw new SluiceError('unavailable', `this key may not create customers: HTTP ${answer.status}`);
    note(answer.data);
    return answer;
  };
  const parts = {
    writes: () => probeOneCustomer(asker, make, mark),
    validation: () => probeValidation(make, mark),
    batch: () => probeBatch(asker, make, mark, note),
  };
  const findings: Finding[] = [];
  for (const [point, part] of Object.entries(parts)) {
    findings.push(await orUntold(point, part));
    if (unsure) await findLost(asker, mark, { note, ids, written });
    unsure = false;
  }
  for (const id of ids) if (!(await isRemoved(asker, id))) written.left.push(`customer ${id} (${mark})`);
  return findings;
}

type Make = (body: unknown, path?: string) => Promise<Answer>;
type Note = (data: unknown) => void;

async function orUntold(point: string, part: () => Promise<Finding>): Promise<Finding> {
  try {
    return await part();
  } catch (error) {
    if (isKind(error, 'unavailable', 'quota')) return untold(point, error.message);
    throw error;
  }
}

/** What a create without an answer may have made. */
async function findLost(
  asker: Asker,
  mark: string,
  { note, ids, written }: { note: Note; ids: ReadonlySet<string>; written: Written },
): Promise<void> {
  const before = ids.size;
  await orUntold('search', async () => {
    note(await findMarked(asker, mark));
    return untold('search', '');
  });
  if (ids.size === before) written.left.push(`perhaps a customer named "${mark} ..", whose creation was not answered`);
}

async function findMarked(asker: Asker, mark: string): Promise<Row[]> {
  const { rows = [] } = await asker.ask(PATH, { query: { search: mark, page: 1, limit: 20 } });
  return rows.filter(row => String(row.account).startsWith(mark));
}

/** Create, read, change, read. */
async function probeOneCustomer(asker: Asker, make: Make, mark: string): Promise<Finding> {
  const made = await make({ account: `${mark} one`, email: 'conformance@example.com' });
  const [id] = idsIn(made.data);
  if (made.verdict.kind !== 'success' || id === undefined)
    return strange('writes', `POST customers: HTTP ${made.status} without an id`, NO_ID);
  const read = async () => (await asker.ask(`${PATH}/${id}`, { expect: 'one' })).data as Row | null | undefined;
  const before = await read();
  const question: Question = { method: 'PUT', body: { city: 'Conformance' }, expect: 'any' };
  const changed = await asker.ask(`${PATH}/${id}`, question);
  const after = await read();
  const evidence = `created with HTTP ${made.status}, changed with HTTP ${changed.status}`;
  if (before?.account !== `${mark} one`)
    return strange('writes', `${evidence}, but not read back as it was sent`, 'yes');
  if (after?.city !== 'Conformance') return strange('writes', `${evidence}, but the change is not read back`, 'yes');
  if (after.account !== `${mark} one`)
    return strange('writes', `${evidence}; a field that is left out of a change is emptied`, 'yes');
  return told('writes', 'done', `${evidence}, and read back`);
}

const NO_ID = 'not: what is created cannot be told';
const NO_REFUSAL = 'not: it is not understood as a refusal of what was sent';

async function probeValidation(make: Make, mark: string): Promise<Finding> {
  const { verdict, status } = await make({ account: `${mark} wrong`, email: WRONG_EMAIL });
  if (verdict.kind === 'success')
    return strange('validation', `HTTP ${status}: a customer with the address "${WRONG_EMAIL}" was created`, 'yes');
  if (verdict.kind !== 'refused') return strange('validation', `HTTP ${status} for a wrong address`, NO_REFUSAL);
  const fields = Object.entries(verdict.fields ?? {}).map(([field, text]) => `${field}: ${text}`);
  const evidence = `HTTP ${status} ${fields.join('; ') || verdict.message}`.slice(0, 100);
  const known = ['200', '400', '409', '422'].includes(String(status));
  return known ? told('validation', String(status), evidence) : strange('validation', evidence, 'yes');
}

/** The answer of a batch proves nothing, so what came of it is looked for. */
async function probeBatch(asker: Asker, make: Make, mark: string, note: Note): Promise<Finding> {
  const [good, wrong] = [`${mark} batch`, `${mark} batch, wrong`];
  const customers = [
    { account: good, email: 'conformance@example.com' },
    { account: wrong, email: WRONG_EMAIL },
  ];
  const { verdict, status, data } = await make({ customers }, '/api/v2/batch/customers');
  if (verdict.kind === 'gone')
    return strange('batch', 'HTTP 404: there is no batch', 'not: sluice push creates customers by the batch');
  const rows = await findMarked(asker, mark);
  note(rows);
  const names = rows.map(row => String(row.account));
  if (names.includes(wrong)) return strange('batch', `HTTP ${status}, and the wrong one was created too`, 'yes');
  if (names.includes(good)) return told('batch', 'partial', `HTTP ${status}; the good one of two was created`);
  if (idsIn(data).length > 0)
    return strange('batch', `HTTP ${status}; it names a customer that a search does not find`, 'yes');
  // Only a search that finds what is there tells that something is not.
  if (names.includes(`${mark} one`)) return told('batch', 'all', `HTTP ${status}; neither of the two was created`);
  return untold('batch', `HTTP ${status}; a search does not find what was created, so look for "${mark}" by yourself`);
}

/** Ids of the records in an answer, also where each is wrapped in a result of its own. */
function idsIn(data: unknown): string[] {
  if (Array.isArray(data)) return data.flatMap(idsIn);
  if (typeof data !== 'object' || data === null) return [];
  const { id, data: inner, customer } = data as { id?: unknown; data?: unknown; customer?: unknown };
  if (typeof id === 'number' || typeof id === 'string') return [String(id)];
  return idsIn(inner ?? customer);
}

/** A delete is believed only when the customer was seen to be there, and then to be gone. */
async function isRemoved(asker: Asker, id: string): Promise<boolean> {
  const look = async () => (await asker.ask(`${PATH}/${id}`, { expect: 'one' })).verdict.kind;
  const question: Question = { method: 'DELETE', expect: 'any' };
  try {
    const before = await look();
    const { verdict } = await asker.ask(`${PATH}/${id}`, question);
    if (verdict.kind !== 'success' && verdict.kind !== 'gone') return false;
    return before === 'success' && (await look()) === 'gone';
  } catch (error) {
    if (isKind(error, 'unavailable', 'quota')) return false;
    throw error;
  }
}
