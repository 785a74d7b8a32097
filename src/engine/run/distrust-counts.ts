import { doubtCounts } from '../profile/counts.ts';
import { startOver, steadyMiscount } from '../task/progress.ts';
import type { Task } from '../task/task.ts';
import type { Engine } from './engine.ts';
import { learn } from './learn.ts';

/**
 * At the end of a task: were the source's counts off by the same number again and again? Returns true once they are not used any
 * more, and the slices that did not add up are to be read again.
 */
export async function distrustCounts(engine: Engine, task: Task): Promise<boolean> {
  const { resource, progress } = task;
  const miscount = task.reportOnly ? null : steadyMiscount(progress);
  const doubt = miscount && doubtCounts(resource.profile, miscount.slice, miscount.by);
  if (!doubt) return false;
  progress.miscounts.clear();
  await learn(engine, resource, doubt);
  if (doubt.value !== 'unreliable') return false;
  engine.log.warn(
    { resource: resource.name, evidence: doubt.evidence },
    'the count of this list is wrong and no longer used',
  );
  startOver(progress);
  return true;
}
