import { linkSignals } from '../../../any-signal.ts';
import { stopped } from '../../../clock.ts';
import { isKind } from '../../../errors.ts';
import type { Choice } from '../../agenda/choice.ts';
import { openTargets } from '../../agenda/plan.ts';
import { absentEntries, holdsNothing, partition } from '../../coverage/list.ts';
import { mayBeAbsent } from '../../job.ts';
import { listIsGone, othersAnswer } from '../../read/absent-list.ts';
import type { Reader } from '../../read/fetch-page.ts';
import type { Resource } from '../../resource.ts';
import { overlap, type Slice, sliceText } from '../../slices/slice.ts';
import { comparedSoFar, noteTry, startOver } from '../../task/progress.ts';
import { fail, failList, type Task, type UnderWay } from '../../task/task.ts';
import type { Loop } from '../engine.ts';
import { read } from './run-reading.ts';

/**
 * Starts the chosen reading, and resolves when it has ended. It leaves `loop.running` then, and sets `loop.fatal` if the whole loop must
 * stop.
 */
export function startReading(loop: Loop, task: Task, choice: Choice, now: number): Promise<void> {
  const { resource } = task;
  noteChoice(task, choice);
  resource.reading.add(choice.slice);
  // One that only measures proves none of them.
  const before = choice.asks === 'length' ? new Map() : partsWithin(resource, choice.slice);
  const compared = comparedSoFar(task.progress);
  const underWay: UnderWay = { room: new AbortController(), abort: new AbortController() };
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

/** Notes what the choice asks, so that it is asked once. */
function noteChoice(task: Task, { slice, asks }: Choice): void {
  const { progress, resource } = task;
  if (task.kind === 'hint') task.targets = openTargets(resource, task).slice(1);
  if (asks === 'cover') progress.coverAsked.add(sliceText(slice));
  else if (asks === 'count') progress.countAsked = true;
  else if (asks === 'length') progress.done.add(sliceText(slice));
  else if (asks) progress.asked.add(asks.row);
}

/**
 * A reading need not reach all slices that it was started for. If nothing changed, count a failed attempt for each, or they
 * would be chosen forever.
 */
function noteEnd(task: Task, slice: Slice, before: ReadonlyMap<string, string>, compared: number): void {
  const after = partsWithin(task.resource, slice);
  const moved = [...before].some(([text, known]) => after.get(text) !== known);
  if (moved || (task.reportOnly && comparedSoFar(task.progress) !== compared)) return;
  for (const text of before.keys()) noteTry(task.progress, text);
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
    noteTry(task.progress, slice);
    if (!task.progress.done.has(slice)) return;
    if (
      task.kind === 'slot' &&
      othersAnswer(task.resource, loop.engine.resources, { at: now, begunAt: loop.begunAt })
    ) {
      fail(task, listIsGone(task.resource));
      return;
    }
    // Whether this list is empty or the address is wrong, the other lists tell.
    startOver(task.progress);
    task.unanswered = true;
    return;
  }
  if (isKind(error, 'absent')) {
    return await leaveOut(loop, task, now).catch((cause: unknown) => noteFailure(loop, task, reading, cause));
  }
  // A paused or cancelled order stops only its own readings.
  if (task.abort.signal.aborted && loop.fatal === null) return;
  if (underWay.room.signal.aborted && isKind(error, 'stopped')) return;
  try {
    failList(loop.engine, task, error, choice.slice);
    task.progress.done.add(sliceText(choice.slice));
    for (const text of before.keys()) task.progress.done.add(text);
  } catch (fatal) {
    if (task.kind === 'hint') task.targets = [choice.slice, ...task.targets];
    loop.fatal ??= fatal;
  }
}

/** Records that the source does not offer the list, so nothing of it is left to read. */
async function leaveOut({ committer }: Loop, task: Task, now: number): Promise<void> {
  const { resource } = task;
  task.absent = true;
  if (task.reportOnly) return;
  await committer.change(resource, () => ({ put: absentEntries(resource, now) }));
}

/** An optional list, or one without rows while others are answered. */
const mayBeLeftOut = ({ engine, begunAt }: Loop, resource: Resource, now: number): boolean =>
  holdsNothing(resource) &&
  (mayBeAbsent(resource.job) || othersAnswer(resource, engine.resources, { at: now, begunAt }));

/** `places`: the admissions that its answers hold. The caller releases them when the reading ends or fails. */
function stoppable(reader: Reader, { room }: UnderWay, places: Set<() => void>): Reader {
  return {
    ...reader,
    admit: async ask => {
      const { value, release } = await reader.admit(() => {
        if (room.signal.aborted) throw stopped(room.signal);
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
