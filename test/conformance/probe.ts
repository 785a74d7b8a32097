import { variantPoints } from '../../sandbox/variants/variant-points.ts';
import { explain, isKind, SluiceError } from '../../src/errors.ts';
import { checkCharset } from './checks/check-charset.ts';
import { checkConcurrency } from './checks/check-concurrency.ts';
import { checkEdges } from './checks/check-edges.ts';
import {
  checkFailingList,
  checkFaults,
  checkForbidden,
  checkHiddenFailures,
  checkKey,
  checkNotFound,
  checkOtherLists,
} from './checks/check-errors.ts';
import { checkFields } from './checks/check-fields.ts';
import { checkFilters, checkSearch, checkStates } from './checks/check-filters.ts';
import { checkLimit } from './checks/check-limit.ts';
import { checkMostRows } from './checks/check-most-rows.ts';
import { checkNoRows } from './checks/check-no-rows.ts';
import { checkOrder } from './checks/check-order.ts';
import { checkPaging, checkPastEnd } from './checks/check-paging.ts';
import { checkRateLimit } from './checks/check-rate-limit.ts';
import { checkReport } from './checks/check-report.ts';
import { checkSecrets } from './checks/check-secrets.ts';
import { checkTotals } from './checks/check-totals.ts';
import { checkValues } from './checks/check-values.ts';
import { checkDateBounds, checkFarDates } from './checks/dates/check-date-bounds.ts';
import { checkDateSpan } from './checks/dates/check-date-span.ts';
import { checkDates } from './checks/dates/check-dates.ts';
import { checkUndated } from './checks/dates/check-undated.ts';
import { checkWrites, MAX_WRITE_REQUESTS } from './checks/writes/check-writes.ts';
import type { Written } from './checks/writes/own-customers.ts';
import { applyExclusions, checkUnreadLists } from './findings/combinations.ts';
import { type Attempt, type Finding, UNKNOWN, undetermined } from './findings/finding.ts';
import { type ListReadings, readLists, throwIfStopped } from './lists/read-lists.ts';
import { openRequester, type Requester } from './requests/requester.ts';
import type { SenderOptions } from './requests/send-request.ts';

export interface ProbeOptions extends SenderOptions {
  /** Whether to create, change and delete a customer too. */
  write: boolean;
  /** The resources for which Sluice has jobs. */
  jobs: readonly string[];
  /** When aborted, no new check starts; created customers are still deleted. */
  signal?: AbortSignal;
}

export interface Report {
  readonly findings: readonly Finding[];
  readonly requests: number;
  readonly written: Written;
  /** Everything found is handled, nothing was left behind, and all checks ran. */
  readonly ok: boolean;
  /** Why not all checks ran, or null. */
  readonly stopped: string | null;
}

/** Points that are never checked, and why. */
const NEVER_CHECKED: Record<string, string> = {
  webhooks: 'a registration cannot be undone, so none is made',
  'deleted-address': 'the point deleted-customer tells what addresses of deleted customers answer',
  'date-times': 'few days have rows enough to show it',
  'list-names': 'such a list is read in any case',
  'empty-form': 'such an answer is read in any case',
  'total-records': 'the pages are read in any case',
  'limit-values': 'limits are asked for only where they are accepted',
  drafts: 'no two answers tell it',
  'behind-end': 'the point past-end asks for the same page',
  'count-age': 'the list would have to change meanwhile',
  estimates: 'a count that is too high tells as much: the point totals',
  'long-pages': 'limits are asked for only where they show rows',
  pages: 'a count that is too high tells as much: the point totals',
  'most-rows-of': 'the point most-rows names the lists',
  'most-weight': 'the point most-rows tells that rows are left out',
  'new-ids': 'the newest record would have to be deleted',
  'rate-length': 'the limit would have to be exhausted',
  backdated: 'no two rows tell it',
  'customer-rows': 'it takes all rows of a customer to show it',
  creates: 'sluice push waits for records in any case',
  visible: 'a key with partial access looks like a smaller installation',
};
const NEEDS_WRITE = 'checked only with --write';

/**
 * Determines how an installation behaves at the points that the API document leaves open, with at most 80 requests, one at a
 * time but for a burst of eight. Errors: `unauthorized` for an invalid key, `unavailable` if customers cannot be read, `configuration` for an invalid
 * address.
 */
export async function probe(options: ProbeOptions): Promise<Report> {
  const requester = openRequester(options);
  const written: Written = { created: [], left: [], notOurs: [] };
  const found: Finding[] = [];
  let stopped: string | null = null;
  const attempt: Attempt = async (points, work) => {
    try {
      throwIfStopped(options.signal);
      found.push(...[await work()].flat());
    } catch (error) {
      if (!isKind(error, 'unavailable', 'quota', 'stopped')) throw error;
      stopped ??= error.message;
      found.push(...points.map(point => undetermined(point, error.message)));
    }
  };
  try {
    const lists = await readLists(requester, options.signal).catch((error: unknown) => {
      if (!isKind(error, 'quota', 'stopped')) throw error;
      stopped = error.message;
      return null;
    });
    if (lists) await runChecks(requester, lists, options, { found, written, attempt });
    found.push(
      checkCharset(requester),
      ...checkRateLimit(requester),
      checkHiddenFailures(requester),
      checkFaults(requester),
    );
    const missing = Object.keys(variantPoints).filter(point => !found.some(finding => finding.point === point));
    found.push(...missing.map(point => undetermined(point, NEVER_CHECKED[point] ?? stopped ?? 'no answer showed it')));
    const findings = applyExclusions(found);
    const handled = findings.every(finding => finding.handled === 'yes' || finding.handled === null);
    const ok = handled && stopped === null && written.left.length + written.notOurs.length === 0;
    return { findings, requests: requester.sent, written, ok, stopped };
  } catch (error) {
    // Customers left behind are reported, whatever failed.
    if (written.left.length === 0) throw error;
    throw new SluiceError('failed', `${explain(error)}\nNOT REMOVED: ${written.left.join('; ')}`, { cause: error });
  } finally {
    await requester.close();
  }
}

/** Checks that others depend on come first; expensive checks with little value come last. */
async function runChecks(
  requester: Requester,
  lists: ListReadings,
  { write, jobs }: ProbeOptions,
  { found, written, attempt }: { found: Finding[]; written: Written; attempt: Attempt },
): Promise<void> {
  const isSeen = (point: string, ...values: string[]) =>
    found.some(finding => finding.point === point && values.includes(finding.seen ?? ''));
  found.push(...checkPaging(lists));
  await attempt(['past-end'], () => checkPastEnd(requester, lists));
  await attempt(['limit-max'], () => checkLimit(requester, lists));
  await attempt(['order'], () => checkOrder(requester, lists));
  found.push(
    ...checkFields(lists),
    checkSecrets(lists),
    ...checkValues(lists),
    ...checkEdges(lists),
    ...checkOtherLists(lists),
    checkForbidden(lists),
    checkFailingList(lists),
    checkFarDates(lists),
  );
  await attempt(['auth-error'], () => checkKey(requester));
  await attempt(['customer-address', 'no-record', 'no-path'], () => checkNotFound(requester, lists));
  if (!write) found.push(...WRITE_POINTS.map(point => undetermined(point, NEEDS_WRITE)));
  else if (requester.left >= MAX_WRITE_REQUESTS) await checkWrites(requester, written, attempt);
  else
    await attempt(WRITE_POINTS, () => {
      throw new SluiceError(
        'quota',
        `writing may take ${MAX_WRITE_REQUESTS} requests including cleanup, and ${requester.left} are left`,
      );
    });
  await attempt(['date-filter', 'date-to'], () => checkDates(requester, lists));
  await attempt(['filters'], () => checkFilters(requester, lists));
  const filterWorks = isSeen('date-filter', 'honoured', 'pair-only');
  await attempt(['date-span'], () => checkDateSpan(requester, lists, filterWorks));
  // Long windows show how the others behave.
  const windowsWork = filterWorks && !isSeen('date-span', 'first-92', 'last-92', 'rejected-92', UNKNOWN);
  await attempt(['most-rows'], () => checkMostRows(requester, lists, windowsWork));
  await attempt(['date-bounds'], () => checkDateBounds(requester, lists, windowsWork));
  const farDatesWork = isSeen('date-bounds', 'any');
  await attempt(['undated'], () => checkUndated(requester, lists, { windowsWork, farDatesWork }));
  await attempt(['report'], () => checkReport(requester, lists, windowsWork));
  await attempt(['states'], () => checkStates(requester, lists, isSeen('filters', 'honoured')));
  await attempt(['search'], () => checkSearch(requester, lists));
  await attempt(['no-rows'], () => checkNoRows(requester, lists));
  await attempt(['totals'], () => checkTotals(requester, lists));
  if (lists.offered.every(({ rows }) => rows.length === 0))
    found.push({ point: 'visible', seen: 'none', evidence: 'every list is empty', handled: 'yes' });
  const offered = lists.offered.map(({ name }) => name);
  found.push(...checkUnreadLists(offered, jobs));
  await attempt(['concurrency'], () => checkConcurrency(requester));
}

const WRITE_POINTS = ['writes', 'stale', 'validation', 'batch', 'deleted-customer'];
