import { count, plural } from '../../service/format.ts';
import { momentWithZone } from '../output/moments.ts';
import type { WorkEstimate } from './estimate-work.ts';

/** What the work costs and when it will be done, in one or two sentences. `most`: --max-requests. */
export function estimateText(estimate: WorkEstimate, timeZone: string, most: number | null): string {
  const { reads, requests, neverRead, free, limit, finishesAt, resources } = estimate;
  const left = `${count(free)} of ${count(limit)} are left now`;
  const bound = most === null ? '' : ` It stops after ${plural(most, 'request')}.`;
  if (finishesAt === null) {
    const known = requests > 0 ? `Takes at least ${plural(requests, 'request')}` : 'The cost is not known yet';
    return `${known} (${plural(neverRead, 'part')} ${neverRead === 1 ? 'was' : 'were'} never read); ${left}.${bound}`;
  }
  if (reads === 'everything')
    return `Takes about ${plural(requests, 'request')}, until about ${momentWithZone(finishesAt, timeZone)}; ${left}.${bound}`;
  const all = resources.reduce((sum, each) => sum + each.requests, 0);
  const part = free > 0 ? 'reads where changes are likeliest and does not wait' : 'reads nothing and does not wait';
  return `Reading everything again would take about ${plural(all, 'request')}; ${left}, so this ${part}.${bound}`;
}
