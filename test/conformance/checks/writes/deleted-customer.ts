import { deletionMark } from '../../../../src/engine/profile/observe-address.ts';
import { type Finding, observed, undetermined, unrecognized } from '../../findings/finding.ts';
import type { Answer, Row } from '../../requests/send-request.ts';

/** Whether the answer of a customer's address says that there is no such customer any more, as Sluice understands it. */
export function saysGone(answer: Answer): boolean {
  const { verdict, status } = answer;
  return verdict.kind === 'gone' || (verdict.kind === 'refused' && status !== 403) || markOf(answer) !== null;
}

/** `deleted-customer`, from what the address of a deleted customer answered. */
export function checkDeletedCustomer(answer: Answer | null): Finding {
  if (answer === null) return undetermined('deleted-customer', 'no customer was created and deleted');
  const { verdict, status, data } = answer;
  const mark = markOf(answer);
  if (mark !== null) return observed('deleted-customer', 'marked', `HTTP ${status} with ${mark}`);
  if (status === 404 || status === 400) return observed('deleted-customer', String(status), `HTTP ${status}`);
  const instead = verdict.kind === 'gone' ? verdict.instead : undefined;
  const evidence = instead ?? `HTTP ${status}`;
  if (status !== 200 || instead === undefined) return unrecognized('deleted-customer', evidence, 'yes');
  if (data === null) return observed('deleted-customer', 'null', evidence);
  return data === undefined
    ? observed('deleted-customer', 'not-found', evidence)
    : unrecognized('deleted-customer', evidence, 'yes');
}

function markOf({ verdict, data }: Answer): string | null {
  return verdict.kind === 'success' && typeof data === 'object' && data !== null ? deletionMark(data as Row) : null;
}
