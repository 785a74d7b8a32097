import { type Attempt, type Finding, strange, told, untold } from '../findings/finding.ts';
import type { Asker } from '../requests/requester.ts';
import type { Question, Row } from '../requests/send-request.ts';
import { CUSTOMERS, createOwnCustomers, idsIn, type OwnCustomers, type Written } from './own-customers.ts';

/** Requests that writing may take, undoing it included: it is not begun with fewer. */
export const WRITES = 22;
const WRONG_EMAIL = 'no e-mail address';

/**
 * Creates a customer, changes and deletes it; asks for one with a wrong address, and for a batch of a good and a wrong one. All
 * it creates has a name of its own and is deleted again, whatever happens in between.
 */
export async function probeWrites(asker: Asker, written: Written, attempt: Attempt): Promise<void> {
  const own = createOwnCustomers(asker, written);
  try {
    await attempt(['writes'], () => probeOneCustomer(asker, own));
    await attempt(['validation'], () => probeValidation(own));
    await attempt(['batch'], () => probeBatch(own));
  } finally {
    await own.removeAll();
  }
}

/** Create, read, change, read. */
async function probeOneCustomer(asker: Asker, own: OwnCustomers): Promise<Finding> {
  const account = `${own.mark} one`;
  const made = await own.create({ account, email: 'conformance@example.com' });
  const [id] = idsIn(made.data);
  if (made.verdict.kind !== 'success' || id === undefined)
    return strange('writes', `POST customers: HTTP ${made.status} without an id`, NO_ID);
  const path = `${CUSTOMERS}/${encodeURIComponent(id)}`;
  const read = async () => (await asker.ask(path, { expect: 'one' })).data as Row | null | undefined;
  const before = await read();
  // What is not seen to be ours is not changed.
  if (before?.account !== account)
    return strange('writes', `created with HTTP ${made.status}, but not read back as it was sent`, 'yes');
  const question: Question = { method: 'PUT', body: { city: 'Conformance' }, expect: 'any' };
  const changed = await asker.ask(path, question);
  const after = await read();
  const evidence = `created with HTTP ${made.status}, changed with HTTP ${changed.status}`;
  if (after?.city !== 'Conformance') return strange('writes', `${evidence}, but the change is not read back`, 'yes');
  if (after.account !== account)
    return strange('writes', `${evidence}; a field that is left out of a change is emptied`, 'yes');
  return told('writes', 'done', `${evidence}, and read back`);
}

const NO_ID = 'not: what is created cannot be told';
const NO_REFUSAL = 'not: it is not understood as a refusal of what was sent';

async function probeValidation(own: OwnCustomers): Promise<Finding> {
  const { verdict, status } = await own.create({ account: `${own.mark} wrong`, email: WRONG_EMAIL });
  if (verdict.kind === 'success')
    return strange('validation', `HTTP ${status}: a customer with the address "${WRONG_EMAIL}" was created`, 'yes');
  if (verdict.kind !== 'refused') return strange('validation', `HTTP ${status} for a wrong address`, NO_REFUSAL);
  const fields = Object.entries(verdict.fields ?? {}).map(([field, text]) => `${field}: ${text}`);
  const evidence = `HTTP ${status} ${fields.join('; ') || verdict.message}`.slice(0, 100);
  const known = ['200', '400', '409', '422'].includes(String(status));
  return known ? told('validation', String(status), evidence) : strange('validation', evidence, 'yes');
}

/** The answer of a batch proves nothing, whatever it is, so what came of it is looked for. */
async function probeBatch(own: OwnCustomers): Promise<Finding> {
  const [good, wrong] = [`${own.mark} batch`, `${own.mark} batch, wrong`];
  const customers = [
    { account: good, email: 'conformance@example.com' },
    { account: wrong, email: WRONG_EMAIL },
  ];
  const { verdict, status, data } = await own.create({ customers }, '/api/v2/batch/customers');
  const names = (await own.search()).map(row => String(row.account));
  if (verdict.kind === 'gone')
    return strange('batch', 'HTTP 404: there is no batch', 'not: sluice push creates customers by the batch');
  if (names.includes(wrong)) return strange('batch', `HTTP ${status}, and the wrong one was created too`, 'yes');
  if (names.includes(good)) return told('batch', 'partial', `HTTP ${status}; the good one of two was created`);
  if (idsIn(data).length > 0)
    return strange('batch', `HTTP ${status}; it names a customer that a search does not find`, 'yes');
  // Only a search that finds what is there tells that something is not.
  if (names.includes(`${own.mark} one`)) return told('batch', 'all', `HTTP ${status}; neither of the two was created`);
  return untold(
    'batch',
    `HTTP ${status}; a search does not find what was created, so look for "${own.mark}" by yourself`,
  );
}
