import { linkSignals } from '../../../any-signal.ts';
import { stopped } from '../../../clock.ts';
import { isKind } from '../../../errors.ts';
import type { Choice } from '../../agenda/choice.ts';
import { targetsBeside } from '../../agenda/plan.ts';
import { absentEntries, holdsNothing, partition } from '../../coverage/list.ts';
import { mayBeAbsent } from '../../job.ts';
import { listIsGone, othersAnswering } from '../../read/fetch/absent-list.ts';
import type { Reader } from '../../read/fetch/fetch-page.ts';
import type { Resource } from '../../resource.ts';
import { overlap, type Slice, sliceText } from '../../slices/slice.ts';
import { failList, type Task, type UnderWay, update } from '../../task/task.ts';
import { comparedSoFar } from '../../task/task-state.ts';
import type { Loop } from '../engine.ts';
import { read } from './run-reading.ts';

/**
 * Starts the chosen reading, and resolves when it has ended. It leaves `loop.running` then, and sets `loop.fatal` if the whole loop must
 * stop.
 */
export function launchReading(loop: Loop, task: Task, choice: Choice, now: number): Promise<void> {
  const { resource } = task;
  update(task, { kind: 'asked', choice, targets: targetsBeside(resource, task) });
  resource.reading.add(choice.slice);
  // One that only measures proves none of them.
  const before = choice.asks === 'length' ? new Map() : partsWithin(resource, choice.slice);
  const compared = comparedSoFar(task.state);
  const underWay: UnderWay = { stopAsking: new AbortController(), abort: new AbortController() };
  task.underWay.add(underWay);
  const places = new Set<() => void>();
  const linked = linkSignals([loop.readerOf(task.lane).signal, underWay.abort.signal, task.abort.signal]);
  const readerOf: Loop['readerOf'] = lane =>
    stoppable({ ...loop.readerOf(lane), signal: linked.signal }, underWay, places);
  const reading = read({ ...loop, readerOf }, task, choice, now)
    .then(() => noteEnd(task, choice.slice, before, compared))
    .catch((error: unknown) => noteFailure(loop, task, { choice, before, underWay, now }, error))
    .finally(() => {
      linked.unlink();
      for (const giveBack of places) giveBack();
      resource.reading.delete(choice.slice);
      task.underWay.delete(underWay);
      loop.running.delete(reading);
    });
  loop.running.add(reading);
  return reading;
}

/**
 * A reading need not reach all slices that it was started for. If nothing changed, count a failed attempt for each, or they
 * would be chosen forever.
 */
function noteEnd(task: Task, slice: Slice, before: ReadonlyMap<string, string>, compared: number): void {
  const after = partsWithin(task.resource, slice);
  const moved = [...before].some(([text, known]) => after.get(text) !== known);
  if (moved || (task.reportOnly && comparedSoFar(task.state) !== compared)) return;
  update(task, { kind: 'proved nothing', slices: [...before.keys()] });
}

async function noteFailure(
  loop: Loop,
  task: Task,
  reading: { choice: Choice; before: ReadonlyMap<string, string>; underWay: UnderWay; now: number },
  error: unknown,
): Promise<void> {
  const { choice, before, underWay, now } = reading;
  if (isKind(error, 'absent') && !mayBeLeftOut(loop, task.resource, now)) {
    const slice = sliceText(choice.slice);
    update(task, { kind: 'proved nothing', slices: [slice] });
    if (!task.state.done.has(slice)) return;
    const others = othersAnswering(task.resource, loop.engine.resources, { at: now, begunAt: loop.begunAt });
    // Whether this list is empty or the address is wrong, the other lists tell.
    const isGone = task.kind === 'slot' && others.length > 0;
    update(task, isGone ? { kind: 'failed', error: listIsGone(task.resource) } : { kind: 'unanswered' });
    return;
  }
  if (isKind(error, 'absent'))
    return await leaveOut(loop, task, now).catch((cause: unknown) => noteFailure(loop, task, reading, cause));
  // A paused or cancelled order stops only its own readings.
  if (task.abort.signal.aborted && loop.fatal === null) return;
  if (underWay.stopAsking.signal.aborted && isKind(error, 'stopped')) return;
  try {
    failList(loop.engine, task, error, choice.slice);
    update(task, { kind: 'done', slices: [sliceText(choice.slice), ...before.keys()] });
  } catch (fatal) {
    if (task.kind === 'hint') update(task, { kind: 'target returned', slice: choice.slice });
    loop.fatal ??= fatal;
  }
}

/** Records that the source does not offer the list, so nothing of it is left to read. */
async function leaveOut({ committer }: Loop, task: Task, now: number): Promise<void> {
  const { resource } = task;
  update(task, { kind: 'found absent' });
  if (task.reportOnly) return;
  await committer.change(resource, () => ({ put: absentEntries(resource, now) }));
}

/** An optional list, or one without rows while others are answered. */
const mayBeLeftOut = ({ engine, begunAt }: Loop, resource: Resource, now: number): boolean =>
  holdsNothing(resource) &&
  (mayBeAbsent(resource.job) || othersAnswering(resource, engine.resources, { at: now, begunAt }).length > 0);

/** `places`: the admissions that its answers hold. The caller releases them when the reading ends or fails. */
function stoppable(reader: Reader, { stopAsking }: UnderWay, places: Set<() => void>): Reader {
  return {
    ...reader,
    admit: async ask => {
      const { value, release } = await reader.admit(() => {
        if (stopAsking.signal.aborted) throw stopped(stopAsking.signal);
        return ask();
      });
      const giveBack = () => {
        places.delete(giveBack);
        release();
      };
      places.add(giveBack);
      return { value, release: giveBack };
    },
  };
}

/** The parts of the partition that overlap the slice, with their last proof and expected size. */
function partsWithin(resource: Resource, slice: Slice): Map<string, string> {
  const parts = partition(resource).filter(entry => entry.slice.by === slice.by && overlap(entry.slice, slice));
  return new Map(parts.map(entry => [sliceText(entry.slice), `${entry.provenAt} ${entry.rows}`]));
}
