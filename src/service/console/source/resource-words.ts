import { stampMs } from '../../../warehouse/database/stamp.ts';
import type { ResourceState } from '../../../warehouse/reports/report.ts';
import { moment } from '../../format.ts';
import type { SourceStatus } from '../../status/source-status.ts';
import type { State } from '../parts/state.ts';

/** What a resource does now, or why it does nothing. `servedAt`: its newest tick that was served (epoch ms). */
export function resourceWords(
  { resource, absent, neverRead, end }: Pick<ResourceState, 'resource' | 'absent' | 'neverRead' | 'end'>,
  { incidents, runs }: Pick<SourceStatus, 'incidents' | 'runs'>,
  { isScheduled, servedAt, timeZone }: { isScheduled: boolean; servedAt: number | null; timeZone: string },
): State {
  if (absent) return { icon: 'off', tone: '', text: 'not offered' };
  if (incidents.some(each => each.resource === resource)) return { icon: 'bad', tone: 'bad', text: 'trouble' };
  const run = runs.find(each => each.resource === resource);
  if (run?.state === 'waiting') {
    const until =
      run.waitingUntil === null ? '' : ` until ${moment(stampMs(run.waitingUntil), timeZone).slice(11, 16)}`;
    return { icon: 'wait', tone: '', text: `waiting${until}` };
  }
  if (run?.state === 'running')
    return { icon: 'busy', tone: 'busy', text: run.kind === 'slot' ? 'reading' : `reading: ${run.kind}` };
  if (!isScheduled) return { icon: 'off', tone: '', text: 'schedule off' };
  if (neverRead > 0) return { icon: 'wait', tone: '', text: 'not read in full yet' };
  if (end?.verdict === 'cut') return { icon: 'wait', tone: '', text: 'cut off by the source' };
  if (servedAt === null) return { icon: 'wait', tone: '', text: 'no tick yet' };
  return { icon: 'ok', tone: 'good', text: 'up to date' };
}
