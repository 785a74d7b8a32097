import { isKind } from '../../errors.ts';
import type { Slice } from '../slices/slice.ts';
import type { Task } from '../task/task.ts';
import { fetchListInstead, type Reader } from './fetch/fetch-page.ts';
import { readPages } from './read-pages.ts';
import type { Step } from './step.ts';

/**
 * Reads the rows of one value. A source may refuse the filter, or fail at it, for some values, such as a customer who was deleted: if the list
 * itself answers, the filter is not used any more, and what it would have confirmed is confirmed in another way.
 */
export async function* readValue(
  reader: Reader,
  task: Task,
  slice: Extract<Slice, { by: 'value' }>,
  startedAt: string,
): AsyncGenerator<Step> {
  const { resource } = task;
  const query = { [slice.field]: slice.value };
  const whenRead = (startedAt: string) => ({ kind: 'targeted', complete: true, startedAt }) as const;
  try {
    yield* readPages(reader, task, { slice, query, whenRead });
  } catch (error) {
    const isOfFilter = resource.strategy.relatedBy === slice.field && isKind(error, 'unavailable');
    if (!isOfFilter && !isKind(error, 'refused', 'unauthorized')) throw error;
    const requests = await fetchListInstead(reader, task, error);
    yield {
      ...{ resource, task, slice, rows: [], bad: [], requests, release: () => undefined },
      learnt: [
        { trait: `filter ${slice.field}`, value: 'cut', evidence: `${slice.field}=${slice.value}: ${error.message}` },
      ],
      end: { kind: 'targeted', complete: false, startedAt },
    };
  }
}
