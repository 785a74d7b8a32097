import { explain, isKind, SluiceError } from '../../src/errors.ts';
import { variantPoints } from '../../src/sandbox/variants/variant-points.ts';
import { probeDates } from './checks/check-dates.ts';
import { judgeFaults, judgeHiddenFailures, judgeOtherLists, probeKey, probeNotThere } from './checks/check-errors.ts';
import { judgeFields } from './checks/check-fields.ts';
import { probeFilters, probeSearch, probeStates } from './checks/check-filters.ts';
import { probeLimit } from './checks/check-limit.ts';
import { probeOrder } from './checks/check-order.ts';
import { judgePaging, probePastEnd } from './checks/check-paging.ts';
import { judgeRate } from './checks/check-rate-limit.ts';
import { probeReport } from './checks/check-report.ts';
import { probeUndated } from './checks/check-undated.ts';
import { judgeValues } from './checks/check-values.ts';
import { probeWrites, WRITES } from './checks/check-writes.ts';
import type { Written } from './checks/own-customers.ts';
import { judgeTogether, judgeUnread } from './findings/combinations.ts';
import { type Attempt, type Finding, untold } from './findings/finding.ts';
import { goOn, type Lists, readLists } from './lists/read-lists.ts';
import { type Asker, openAsker } from './requests/requester.ts';
import type { SenderOptions } from './requests/send-request.ts';

export interface ProbeOptions extends SenderOptions {
  /** Also creates, changes and deletes a customer. */
  write: boolean;
  /** The resources that Sluice has jobs for. */
  jobs: readonly string[];
  /** Once aborted, nothing new is begun; what was created is still deleted. */
  signal?: AbortSignal;
}

export interface Report {
  readonly findings: readonly Finding[];
  readonly requests: number;
  readonly written: Written;
  /** All that was seen is handled, nothing was left behind, and nothing kept the suite from going on. */
  readonly ok: boolean;
  /** What kept the suite from asking all it wanted. */
  readonly stopped: string | null;
}

/** What is not asked for, and why. */
const NEVER: Record<string, string> = {
  webhooks: 'nothing undoes a registration, so none is made',
  visible: 'a key that may see a part looks like a smaller installation',
};
const UNASKED = 'only asked for with --write';

/**
 * Finds out how an installation behaves at the points that its document leaves open, by at most 60 requests, one at a time.
 * Kinds: `unauthorized` for a wrong key, `unavailable` where customers cannot be read, `configuration` for a wrong address.
 */
export async function probe(options: ProbeOptions): Promise<Report> {
  const asker = openAsker(options);
  const written: Written = { created: [], left: [], notOurs: [] };
  const found: Finding[] = [];
  let stopped: string | null = null;
  const attempt: Attempt = async (points, work) => {
    try {
      goOn(options.signal);
      found.push(...[await work()].flat());
    } catch (error) {
      if (!isKind(error, 'unavailable', 'quota', 'stopped')) throw error;
      stopped ??= error.message;
      found.push(...points.map(point => untold(point, error.message)));
    }
  };
  try {
    const lists = await readLists(asker, options.signal).catch((error: unknown) => {
      if (!isKind(error, 'quota', 'stopped')) throw error;
      stopped = error.message;
      return null;
    });
    if (lists) await probeAll(asker, lists, options, { found, written, attempt });
    found.push(...judgeRate(asker), judgeHiddenFailures(asker), judgeFaults(asker));
    const missing = Object.keys(variantPoints).filter(point => !found.some(finding => finding.point === point));
    found.push(...missing.map(point => untold(point, NEVER[point] ?? stopped ?? 'nothing showed it')));
    const findings = judgeTogether(found);
    const handled = findings.every(finding => finding.handled === 'yes' || finding.handled === null);
    const ok = handled && stopped === null && written.left.length + written.notOurs.length === 0;
    return { findings, requests: asker.sent, written, ok, stopped };
  } catch (error) {
    // What stays behind is told, whatever went wrong.
    if (written.left.length === 0) throw error;
    throw new SluiceError('failed', `${explain(error)}\nNOT REMOVED: ${written.left.join('; ')}`, { cause: error });
  } finally {
    await asker.close();
  }
}

/** What others rest on comes first, and what costs most for least comes last. */
async function probeAll(
  asker: Asker,
  lists: Lists,
  { write, jobs }: ProbeOptions,
  { found, written, attempt }: { found: Finding[]; written: Written; attempt: Attempt },
): Promise<void> {
  const works = (point: string, ...values: string[]) =>
    found.some(finding => finding.point === point && values.includes(finding.seen ?? ''));
  found.push(...judgePaging(lists));
  await attempt(['past-end'], () => probePastEnd(asker, lists));
  await attempt(['limit-max'], () => probeLimit(asker, lists));
  await attempt(['order'], () => probeOrder(asker, lists));
  found.push(...judgeFields(lists), ...judgeValues(lists), ...judgeOtherLists(lists));
  await attempt(['auth-error'], () => probeKey(asker));
  await attempt(['record', 'no-record', 'no-path'], () => probeNotThere(asker, lists));
  if (!write) found.push(...WRITING.map(point => untold(point, UNASKED)));
  else if (asker.left >= WRITES) await probeWrites(asker, written, attempt);
  else
    await attempt(WRITING, () => {
      throw new SluiceError('quota', `writing and undoing it may take ${WRITES} requests, and ${asker.left} are left`);
    });
  await attempt(['date-filter', 'date-to'], () => probeDates(asker, lists));
  await attempt(['filters'], () => probeFilters(asker, lists));
  const windowsWork = works('date-filter', 'honoured', 'pair-only');
  await attempt(['undated'], () => probeUndated(asker, lists, windowsWork));
  await attempt(['report'], () => probeReport(asker, lists, windowsWork));
  await attempt(['states'], () => probeStates(asker, lists, works('filters', 'honoured')));
  await attempt(['search'], () => probeSearch(asker, lists));
  if (lists.offered.every(({ rows }) => rows.length === 0))
    found.push({ point: 'visible', seen: 'none', evidence: 'every list is empty', handled: 'yes' });
  const offered = lists.offered.map(({ name }) => name);
  found.push(...judgeUnread(offered, jobs));
}

const WRITING = ['writes', 'validation', 'batch'];
