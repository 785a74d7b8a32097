import {
  type Candidates,
  combineLists,
  describeValue,
  type Finding,
  observed,
  undetermined,
  unrecognized,
} from '../findings/finding.ts';
import { pathOf, UNDOCUMENTED_LISTS } from '../lists/documented-lists.ts';
import type { ListReadings, MissingList } from '../lists/read-lists.ts';
import type { Requester } from '../requests/requester.ts';
import type { Answer } from '../requests/send-request.ts';
import { saysGone } from './writes/deleted-customer.ts';

const INVALID_KEY = 'no-key-of-this-installation';
const UNUSED_ID = 2_147_483_646;

/** `auth-error`: one request with an invalid key. */
export async function checkKey(requester: Requester): Promise<Finding> {
  const answer = await requester.request(pathOf('customers'), { query: { page: 1, limit: 1 }, key: INVALID_KEY });
  const handled =
    answer.verdict.kind === 'unauthorized' ? 'yes' : 'not: Sluice does not recognize it as a rejected key';
  const evidence = `${describe(answer)} for an invalid key`;
  if (answer.verdict.kind === 'success') return unrecognized('auth-error', evidence, 'not: the source accepts any key');
  const known = ['200', '400', '401', '403'].includes(String(answer.status));
  return known
    ? observed('auth-error', String(answer.status), evidence, handled)
    : unrecognized('auth-error', evidence, handled);
}

/** Requests a listed customer, a customer that does not exist, and a path that does not exist. */
export async function checkNotFound(requester: Requester, lists: ListReadings): Promise<Finding[]> {
  const findings: Finding[] = [];
  let denied: string | null = null;
  const id = lists.offered.find(({ name }) => name === 'customers')?.rows[0]?.id;
  if (typeof id === 'number' || typeof id === 'string') {
    const one = await requester.request(`${pathOf('customers')}/${id}`, { expect: 'one' });
    const same = String((one.data as { id?: unknown } | null | undefined)?.id) === String(id);
    const evidence = `GET /api/v2/customers/{id}: ${describe(one)}`;
    const works = one.verdict.kind === 'success' && same;
    if (works) findings.push(observed('customer-address', 'works', evidence));
    else if (one.status === 404 || one.status === 403)
      findings.push(observed('customer-address', String(one.status), evidence));
    else findings.push(unrecognized('customer-address', evidence, 'yes'));
    if (!works) denied = evidence;
  }
  const gone = await requester.request(`${pathOf('customers')}/${UNUSED_ID}`, { expect: 'record' });
  const noRecord = `${describe(gone)} for a customer that does not exist`;
  if (denied !== null) findings.push(undetermined('no-record', denied));
  else if (gone.status === 404) findings.push(observed('no-record', '404', noRecord));
  else findings.push(unrecognized('no-record', noRecord, saysGone(gone) ? 'yes' : LOOKS_PRESENT));

  const path = await requester.request('/api/v2/no-such-list');
  const noPath = `${describe(path)} for a path that does not exist`;
  if (path.verdict.kind === 'gone') findings.push(observed('no-path', '404', noPath));
  else
    findings.push(
      unrecognized(
        'no-path',
        noPath,
        path.verdict.kind === 'refused' ? 'yes' : 'not: Sluice treats it as a temporary failure',
      ),
    );
  return findings;
}

const LOOKS_PRESENT = 'not: a deleted customer cannot be told from others by reading it';

/** The statuses by which an optional list may say that it does not exist. */
const NOT_OFFERED: readonly number[] = [403, 404, 405];

/** `other-lists`: the lists whose operations are not documented; also documented lists that do not exist. */
export function checkOtherLists(lists: ListReadings): Finding[] {
  const asked = UNDOCUMENTED_LISTS.filter(name => !lists.failed.some(each => each.name === name));
  const unshown = asked.map((list): Candidates => {
    const answer = lists.notOffered.find(({ name }) => name === list)?.answer;
    if (!answer) return { list, values: ['list'], evidence: 'HTTP 200 with a list' };
    const { status, verdict } = answer;
    const understood = NOT_OFFERED.includes(status) && verdict.kind !== 'retry' && verdict.kind !== 'success';
    const values = status === 404 || status === 405 ? [String(status)] : [];
    return { list, values, evidence: describe(answer), handled: understood ? 'yes' : READ_FAILS };
  });
  const shown = documented(lists).filter(each => !isForbidden(each) && each !== failingList(lists));
  return [
    ...combineLists('other-lists', unshown),
    ...lists.failed.map(({ name, message }) => ({ ...unrecognized('no-list', message, READ_FAILS), lists: [name] })),
    ...shown.map(({ name, answer }) => ({ ...unrecognized('no-list', describe(answer), READ_FAILS), lists: [name] })),
  ];
}

const READ_FAILS = 'not: every read of such a list fails';

/** `forbidden`: the documented lists that the key may not read. */
export function checkForbidden(lists: ListReadings): Finding {
  const { offered } = lists;
  const refused = documented(lists).filter(isForbidden);
  const [first] = refused;
  if (!first) return observed('forbidden', 'none', `the key may read all of ${offered.length} lists that answer`);
  const names = refused.map(({ name }) => name).join(', ');
  const evidence = `${names}: ${describe(first.answer)}`;
  const isKnown = describeValue('forbidden', names) !== undefined;
  return isKnown ? observed('forbidden', names, evidence) : unrecognized('forbidden', evidence, 'yes');
}

/** `failing-list`: the documented list that answers 404 or 400 to every request. Several such lists are no single list's trouble. */
export function checkFailingList(lists: ListReadings): Finding {
  const failing = failingList(lists);
  if (!failing)
    return observed('failing-list', 'none', 'no single documented list answers 404 or 400 to every request');
  const evidence = `${failing.name}: ${describe(failing.answer)}`;
  const value = `${failing.name}-${failing.answer.status}`;
  const isKnown = describeValue('failing-list', value) !== undefined;
  return isKnown ? observed('failing-list', value, evidence) : unrecognized('failing-list', evidence, 'yes');
}

function failingList(lists: ListReadings): MissingList | null {
  const failing = documented(lists).filter(({ answer: { status } }) => status === 404 || status === 400);
  return failing.length === 1 ? (failing[0] ?? null) : null;
}

const documented = ({ notOffered }: ListReadings): MissingList[] =>
  notOffered.filter(each => !UNDOCUMENTED_LISTS.includes(each.name));

const isForbidden = ({ answer: { verdict, status } }: MissingList): boolean =>
  verdict.kind === 'refused' && status === 403;

/** Whether failures have HTTP status 200. */
export function checkHiddenFailures({ answers }: Requester): Finding {
  const failed = answers.filter(({ verdict }) => verdict.kind !== 'success');
  const hidden = failed.filter(({ status }) => status >= 200 && status < 300);
  if (failed.length === 0) return undetermined('failures', 'no request failed');
  const evidence = `${hidden.length} of ${failed.length} failures have HTTP 2xx`;
  return observed('failures', hidden.length > 0 ? 'hidden' : 'by-status', evidence);
}

/** `fault`: failures that did not recur. */
export function checkFaults({ transientFaults, answers }: Requester): Finding {
  const names = [...new Set(transientFaults.map(({ fault }) => fault))];
  if (names.length === 0)
    return observed('fault', 'none', `all of ${answers.length} answers were valid on the first attempt`);
  const evidence = `${transientFaults.length} times, e.g. for ${transientFaults[0]?.request}; a retry succeeded`;
  return observed('fault', names.join(', '), evidence);
}

function describe({ status, verdict }: Answer): string {
  if (verdict.kind === 'refused' || verdict.kind === 'unauthorized')
    return `HTTP ${status} "${verdict.message.slice(0, 60)}"`;
  return verdict.kind === 'retry' ? verdict.what.slice(0, 80) : `HTTP ${status}`;
}
