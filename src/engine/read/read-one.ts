import { stampMs } from '../../clock.ts';
import { isKind, type SluiceError } from '../../errors.ts';
import type { OneAnswer } from '../../source/client.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { shownBeside } from '../../warehouse/rows/missing-rows.ts';
import { slicingOf } from '../job.ts';
import {
  answersForShown,
  believesDenial,
  deletionMark,
  deniesShown,
  hidesDeletion,
} from '../profile/observe-address.ts';
import { placeOf, type Resource } from '../resource.ts';
import type { Slice } from '../slices/slice.ts';
import type { Task } from '../task/task.ts';
import { fetchListInstead, type Reader } from './fetch/fetch-page.ts';
import type { Step } from './step.ts';

/**
 * Reads one row by its key. A 404 proves that it was deleted, provided that the address answers for a row that the list shows. An address
 * that says anything else, such as another row, or fails while those of other rows answer, proves nothing and is not asked again.
 */
export async function* readOne(
  reader: Reader,
  database: Database,
  task: Task,
  slice: OneSlice,
  startedAt: string,
): AsyncGenerator<Step> {
  const { resource } = task;
  const { answer, release, failure } = await fetchOne(reader, task, slice, startedAt);
  const { requests, grantedAt } = answer;
  const step = { resource, task, slice, requests, release, rows: [], bad: [] };
  const end = { kind: 'targeted', complete: true, startedAt: grantedAt } as const;
  if (failure && !(yield* askForShown(reader, database, task, slice, startedAt))) throw failure;
  const parsed = answer.kind === 'one' ? resource.parse(answer.record, grantedAt) : null;
  const instead = answer.kind === 'gone' ? answer.instead : otherThan(slice.key, answer.record, parsed);
  if (instead !== undefined) yield { ...step, end, learnt: [hidesDeletion(slice.key, instead)] };
  else if (answer.kind === 'gone') {
    yield step;
    const isBelieved =
      believesDenial(resource.profile, stampMs(grantedAt)) ||
      (yield* askForShown(reader, database, task, slice, startedAt));
    yield { ...step, requests: 0, end: isBelieved ? { kind: 'gone', key: slice.key, at: grantedAt } : end };
  } else if (parsed !== null) {
    const shown = { ...step, replaced: answer.replaced ?? 0, end };
    yield 'row' in parsed ? { ...shown, rows: [parsed.row] } : { ...shown, bad: [parsed.bad] };
  }
}

/** What the record is in place of the row of this key, in words; undefined if it is that row, and not marked as deleted. */
function otherThan(
  key: string,
  record: Readonly<Record<string, unknown>>,
  parsed: ReturnType<Resource['parse']> | null,
): string | undefined {
  const shown = parsed && ('row' in parsed ? parsed.row : parsed.bad).key;
  return shown === null || shown === key ? (deletionMark(record) ?? undefined) : `row ${shown}`;
}

type OneSlice = Extract<Slice, { by: 'one' }>;

/** Asks the addresses of rows that the list shows, until one answers: any of them may have been deleted since. Returns whether one did. */
async function* askForShown(
  reader: Reader,
  { kysely }: Database,
  task: Task,
  { key: denied }: OneSlice,
  startedAt: string,
): AsyncGenerator<Step, boolean> {
  const { resource } = task;
  const keys = await shownBeside(kysely, placeOf(resource), resource.table, denied);
  const step = { resource, task, rows: [], bad: [] };
  for (const key of keys) {
    const slice = { by: 'one', key } as const;
    const { answer, release, failure } = await fetchOne(reader, task, slice, startedAt);
    if (failure) throw failure;
    const { requests, grantedAt } = answer;
    const isShown =
      answer.kind === 'one' && otherThan(key, answer.record, resource.parse(answer.record, grantedAt)) === undefined;
    const learnt = isShown ? [answersForShown(key, stampMs(grantedAt))] : [];
    yield { ...step, slice, requests, release, learnt };
    if (isShown) return true;
  }
  yield {
    ...step,
    slice: { by: 'one', key: denied },
    requests: 0,
    release: () => undefined,
    learnt: [deniesShown(keys)],
  };
  return false;
}

async function fetchOne(
  reader: Reader,
  task: Task,
  { key }: OneSlice,
  startedAt: string,
): Promise<{ answer: OneAnswer; release: () => void; failure?: SluiceError }> {
  const { resource, lane, runId } = task;
  const slicing = slicingOf(resource.job, 'one');
  if (!slicing) throw new Error(`${resource.name} cannot be asked for one row`);
  const path = slicing.path.replace('{key}', encodeURIComponent(key));
  const context = { lane, purpose: `${resource.name} one ${key}`, runId, signal: reader.signal };
  try {
    const { value: answer, release } = await reader.admit(() => reader.client.get(path, context));
    return { answer, release };
  } catch (error) {
    const isFailure = isKind(error, 'unavailable');
    const isForbidden = isKind(error, 'unauthorized');
    if (!isForbidden && !isFailure && !isKind(error, 'refused')) throw error;
    // If the key still reads the list, it is the address that it may not read, whatever the refusal says of the key.
    const requests = isForbidden ? await fetchListInstead(reader, task, error) : 0;
    const gone = { kind: 'gone', instead: error.message, grantedAt: startedAt, requests } as const;
    return { answer: gone, release: () => undefined, ...(isFailure && { failure: error }) };
  }
}
