import { agree, type Candidates, type Finding, strange, told, untold } from '../findings/finding.ts';
import { pathOf, UNSHOWN } from '../lists/documented-lists.ts';
import type { Lists } from '../lists/read-lists.ts';
import type { Asker } from '../requests/requester.ts';
import type { Answer } from '../requests/send-request.ts';

const WRONG_KEY = 'no-key-of-this-installation';
const NO_ID = 2_147_483_646;

/** `auth-error`: one request with a key that is none. */
export async function probeKey(asker: Asker): Promise<Finding> {
  const answer = await asker.ask(pathOf('customers'), { query: { page: 1, limit: 1 }, key: WRONG_KEY });
  const handled = answer.verdict.kind === 'unauthorized' ? 'yes' : 'not: it is not understood as a refusal of the key';
  const evidence = `${described(answer)} for a wrong key`;
  if (answer.verdict.kind === 'success')
    return strange('auth-error', evidence, 'not: whoever asks is let in, with a key or without one');
  const known = ['200', '400', '401', '403'].includes(String(answer.status));
  return known
    ? told('auth-error', String(answer.status), evidence, handled)
    : strange('auth-error', evidence, handled);
}

/** One customer that was listed, one that is not there, and a path that is not there. */
export async function probeNotThere(asker: Asker, lists: Lists): Promise<Finding[]> {
  const findings: Finding[] = [];
  const id = lists.offered.find(({ name }) => name === 'customers')?.rows[0]?.id;
  if (typeof id === 'number' || typeof id === 'string') {
    const one = await asker.ask(`${pathOf('customers')}/${id}`, { expect: 'one' });
    const same = String((one.data as { id?: unknown } | null | undefined)?.id) === String(id);
    const evidence = `GET /api/v2/customers/{id}: ${described(one)}`;
    if (one.verdict.kind === 'success' && same) findings.push(told('record', 'one', evidence));
    else findings.push(strange('record', evidence, 'not: whether a customer is gone is asked by its id'));
  }
  const gone = await asker.ask(`${pathOf('customers')}/${NO_ID}`, { expect: 'one' });
  const noRecord = `${described(gone)} for a customer that is not there`;
  if (gone.verdict.kind === 'gone') findings.push(told('no-record', '404', noRecord));
  else findings.push(strange('no-record', noRecord, 'not: only HTTP 404 proves that a customer is gone'));

  const path = await asker.ask('/api/v2/no-such-list');
  const noPath = `${described(path)} for a path that is not there`;
  if (path.verdict.kind === 'gone') findings.push(told('no-path', '404', noPath));
  else
    findings.push(
      strange(
        'no-path',
        noPath,
        path.verdict.kind === 'refused' ? 'yes' : 'not: it is taken for a failure that passes',
      ),
    );
  return findings;
}

/** By these a list that need not be there may say that it is not. */
const NOT_OFFERED: readonly number[] = [403, 404, 405];

/** `other-lists`: what the lists do of which the document shows nothing; and documented ones that are not there. */
export function judgeOtherLists(lists: Lists): Finding[] {
  const asked = UNSHOWN.filter(name => !lists.failed.some(each => each.name === name));
  const unshown = asked.map((list): Candidates => {
    const answer = lists.notOffered.find(({ name }) => name === list)?.answer;
    if (!answer) return { list, values: ['list'], evidence: 'HTTP 200 with a list' };
    const { status, verdict } = answer;
    const understood = NOT_OFFERED.includes(status) && verdict.kind !== 'retry' && verdict.kind !== 'success';
    const values = status === 404 || status === 405 ? [String(status)] : [];
    return { list, values, evidence: described(answer), handled: understood ? 'yes' : FAILS };
  });
  const shown = lists.notOffered.filter(({ name }) => !UNSHOWN.includes(name));
  return [
    ...agree('other-lists', unshown),
    ...lists.failed.map(({ name, what }) => ({ ...strange('lists', what, FAILS), lists: [name] })),
    ...shown.map(({ name, answer }) => ({ ...strange('lists', described(answer), FAILS), lists: [name] })),
  ];
}

const FAILS = 'not: every reading of such a list ends as a failure';

/** Whether failures come with HTTP 200, as far as any came. */
export function judgeHiddenFailures({ answers }: Asker): Finding {
  const failed = answers.filter(({ verdict }) => verdict.kind !== 'success');
  const hidden = failed.filter(({ status }) => status >= 200 && status < 300);
  if (failed.length === 0) return untold('failures', 'nothing failed');
  const evidence = `${hidden.length} of ${failed.length} failures came with HTTP 2xx`;
  return told('failures', hidden.length > 0 ? 'hidden' : 'by-status', evidence);
}

/** `fault`: what went wrong once and not again. */
export function judgeFaults({ stumbles, answers }: Asker): Finding {
  const names = [...new Set(stumbles.map(({ fault }) => fault))];
  if (names.length === 0) return told('fault', 'none', `each of ${answers.length} answers was sound at once`);
  const evidence = `${stumbles.length} times, e.g. for ${stumbles[0]?.asked}; asked again, it answered`;
  return told('fault', names.join(', '), evidence);
}

function described({ status, verdict }: Answer): string {
  if (verdict.kind === 'refused' || verdict.kind === 'unauthorized')
    return `HTTP ${status} "${verdict.message.slice(0, 60)}"`;
  return verdict.kind === 'retry' ? verdict.what.slice(0, 80) : `HTTP ${status}`;
}
