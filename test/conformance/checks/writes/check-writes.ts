import { SECOND } from '../../../../src/clock.ts';
import { type Attempt, type Finding, observed, undetermined, unrecognized } from '../../findings/finding.ts';
import type { Requester } from '../../requests/requester.ts';
import type { Answer, Row } from '../../requests/send-request.ts';
import { checkDeletedCustomer, saysGone } from './deleted-customer.ts';
import { CUSTOMERS, createOwnCustomers, idsIn, type OwnCustomers, type Written } from './own-customers.ts';
import { createSettledRequests, MOST_STALE_MS, type SettledRequests, type WriteShown } from './settled-requests.ts';

/** The maximum number of requests of the write checks, cleanup included; they do not start with fewer left. */
export const MAX_WRITE_REQUESTS = 25;
const INVALID_EMAIL = 'no e-mail address';

/**
 * Creates, changes and deletes a customer; tries to create one with an invalid address, and a batch of a valid and an invalid
 * one. Every customer it creates has a unique name and is deleted, whatever happens.
 */
export async function checkWrites(requester: Requester, written: Written, attempt: Attempt): Promise<void> {
  const requests = createSettledRequests(requester);
  const own = createOwnCustomers(requests, written);
  let shown: Answer | null = null;
  try {
    await attempt(['writes', 'stale'], () => checkOneCustomer(requests, own));
    await attempt(['validation'], () => checkValidation(own));
    await attempt(['batch'], () => checkBatch(own));
  } finally {
    shown = await own.removeAll();
  }
  await attempt(['deleted-customer'], async () => checkDeletedCustomer(shown));
}

/** Creates, reads, changes and reads again; the reads show whether answers lag behind. */
async function checkOneCustomer(requests: SettledRequests, own: OwnCustomers): Promise<Finding[]> {
  const account = `${own.mark} one`;
  const made = await own.create({ account, email: 'conformance@example.com' });
  const [id] = idsIn(made.data);
  if (made.verdict.kind !== 'success' || id === undefined)
    return [
      unrecognized('writes', `POST customers: HTTP ${made.status} without an id`, NO_ID),
      undetermined('stale', 'the created customer has no id to read it by'),
    ];
  const path = `${CUSTOMERS}/${encodeURIComponent(id)}`;
  const created = await requests.readUntil(path, answer => !saysGone(answer));
  // Only a customer that is proven to be ours is changed.
  if (rowOf(created.answer)?.account !== account) {
    const evidence = `created with HTTP ${made.status}, but reading it returns other values`;
    return [unrecognized('writes', evidence, 'yes'), judgeLag(created, null)];
  }
  const put = await requests.write(path, { method: 'PUT', body: { city: 'Conformance' }, expect: 'any' });
  const isAccepted = put.verdict.kind === 'success';
  const isChanged = (answer: Answer) => rowOf(answer)?.city === 'Conformance';
  // The change is never shown if the source refused it.
  const changed = await requests.readUntil(path, answer => !isAccepted || isChanged(answer));
  const lag = judgeLag(created, isAccepted ? changed : null);
  const evidence = `created with HTTP ${made.status}, changed with HTTP ${put.status}`;
  if (!isChanged(changed.answer))
    return [unrecognized('writes', `${evidence}, but reading it does not return the change`, 'yes'), lag];
  if (rowOf(changed.answer)?.account !== account)
    return [unrecognized('writes', `${evidence}; fields omitted from the change are cleared`, 'yes'), lag];
  return [observed('writes', 'done', `${evidence}, and read back`), lag];
}

const rowOf = ({ data }: Answer) => data as Row | null | undefined;

/** `stale`: a replica lacks a new customer, whose address no cache can know; a cache repeats the answer from before the change. */
function judgeLag({ lagMs: createdMs }: WriteShown, changed: WriteShown | null): Finding {
  const changedMs = changed?.lagMs ?? 'unreadable';
  if (createdMs === 'never' || changedMs === 'never') {
    const what = createdMs === 'never' ? 'a created customer' : 'a change';
    return unrecognized('stale', `${what} was not shown within ${MOST_STALE_MS / SECOND} s`, LAGS_TOO_FAR);
  }
  if (createdMs !== 'unreadable' && createdMs > 0)
    return observed('stale', 'replica', `a created customer was not shown at once, but within ${seconds(createdMs)} s`);
  if (createdMs === 'unreadable' || changedMs === 'unreadable')
    return undetermined('stale', 'the created customer could not be changed and read back');
  return changedMs > 0
    ? observed('stale', 'cache', `a created customer was shown at once, a change within ${seconds(changedMs)} s`)
    : observed('stale', 'no', 'a created customer and a change were shown at once');
}

const seconds = (ms: number) => Math.round(ms / SECOND);

const LAGS_TOO_FAR = 'not: if answers lag further behind, set SOURCE_LAG_SECONDS to their lag';
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
