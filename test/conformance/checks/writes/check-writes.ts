import { type Attempt, type Finding, observed, undetermined, unrecognized } from '../../findings/finding.ts';
import type { Requester } from '../../requests/requester.ts';
import type { Answer, RequestOptions, Row } from '../../requests/send-request.ts';
import { checkDeletedCustomer } from './deleted-customer.ts';
import { CUSTOMERS, createOwnCustomers, idsIn, type OwnCustomers, type Written } from './own-customers.ts';

/** The maximum number of requests of the write checks, cleanup included; they do not start with fewer left. */
export const MAX_WRITE_REQUESTS = 22;
const INVALID_EMAIL = 'no e-mail address';

/**
 * Creates, changes and deletes a customer; tries to create one with an invalid address, and a batch of a valid and an invalid
 * one. Every customer it creates has a unique name and is deleted, whatever happens.
 */
export async function checkWrites(requester: Requester, written: Written, attempt: Attempt): Promise<void> {
  const own = createOwnCustomers(requester, written);
  let shown: Answer | null = null;
  try {
    await attempt(['writes'], () => checkOneCustomer(requester, own));
    await attempt(['validation'], () => checkValidation(own));
    await attempt(['batch'], () => checkBatch(own));
  } finally {
    shown = await own.removeAll();
  }
  await attempt(['deleted-customer'], async () => checkDeletedCustomer(shown));
}

/** Creates, reads, changes and reads again. */
async function checkOneCustomer(requester: Requester, own: OwnCustomers): Promise<Finding> {
  const account = `${own.mark} one`;
  const made = await own.create({ account, email: 'conformance@example.com' });
  const [id] = idsIn(made.data);
  if (made.verdict.kind !== 'success' || id === undefined)
    return unrecognized('writes', `POST customers: HTTP ${made.status} without an id`, NO_ID);
  const path = `${CUSTOMERS}/${encodeURIComponent(id)}`;
  const read = async () => (await requester.request(path, { expect: 'one' })).data as Row | null | undefined;
  const before = await read();
  // Only a customer that is proven to be ours is changed.
  if (before?.account !== account)
    return unrecognized('writes', `created with HTTP ${made.status}, but reading it returns other values`, 'yes');
  const question: RequestOptions = { method: 'PUT', body: { city: 'Conformance' }, expect: 'any' };
  const changed = await requester.request(path, question);
  const after = await read();
  const evidence = `created with HTTP ${made.status}, changed with HTTP ${changed.status}`;
  if (after?.city !== 'Conformance')
    return unrecognized('writes', `${evidence}, but reading it does not return the change`, 'yes');
  if (after.account !== account)
    return unrecognized('writes', `${evidence}; fields omitted from the change are cleared`, 'yes');
  return observed('writes', 'done', `${evidence}, and read back`);
}

const NO_ID = 'not: a created row cannot be identified';
const NOT_RECOGNIZED = 'not: Sluice does not recognize it as a validation error';

async function checkValidation(own: OwnCustomers): Promise<Finding> {
  const { verdict, status } = await own.create({ account: `${own.mark} invalid`, email: INVALID_EMAIL });
  if (verdict.kind === 'success')
    return unrecognized(
      'validation',
      `HTTP ${status}: a customer with the address "${INVALID_EMAIL}" was created`,
      'yes',
    );
  if (verdict.kind !== 'refused')
    return unrecognized('validation', `HTTP ${status} for an invalid address`, NOT_RECOGNIZED);
  const fields = Object.entries(verdict.fields ?? {}).map(([field, text]) => `${field}: ${text}`);
  const evidence = `HTTP ${status} ${fields.join('; ') || verdict.message}`.slice(0, 100);
  const known = ['200', '400', '409', '422'].includes(String(status));
  return known ? observed('validation', String(status), evidence) : unrecognized('validation', evidence, 'yes');
}

/** The answer to a batch proves nothing, so the created customers are searched for. */
async function checkBatch(own: OwnCustomers): Promise<Finding> {
  const [valid, invalid] = [`${own.mark} batch`, `${own.mark} batch, invalid`];
  const customers = [
    { account: valid, email: 'conformance@example.com' },
    { account: invalid, email: INVALID_EMAIL },
  ];
  const { verdict, status, data } = await own.create({ customers }, '/api/v2/batch/customers');
  const names = (await own.search()).map(row => String(row.account));
  if (verdict.kind === 'gone')
    return unrecognized(
      'batch',
      'HTTP 404: there is no batch endpoint',
      'not: sluice push creates customers in batches',
    );
  if (names.includes(invalid))
    return unrecognized('batch', `HTTP ${status}, and the invalid customer was created too`, 'yes');
  if (names.includes(valid)) return observed('batch', 'partial', `HTTP ${status}; the valid one of two was created`);
  if (idsIn(data).length > 0)
    return unrecognized('batch', `HTTP ${status}; it returns an id that a search does not find`, 'yes');
  // A search proves absence only if it finds a customer that exists.
  if (names.includes(`${own.mark} one`))
    return observed('batch', 'all', `HTTP ${status}; neither of the two was created`);
  return undetermined(
    'batch',
    `HTTP ${status}; a search does not find created customers, so look for "${own.mark}" yourself`,
  );
}
