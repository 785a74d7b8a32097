import type { Reading, ReadingContext, ReadingOutcome } from '../../source/paging/stable-reading.ts';
import { mostAlone, mostUncounted } from '../coverage/uncounted.ts';
import { mayBeCutByWeight, type Weight } from '../profile/answer-weight.ts';
import { LEAST_PAGE } from '../profile/observe-page.ts';
import { isIdOrdered, isSingleBody } from '../profile/strategy.ts';
import { isContentKeyed, type Resource } from '../resource.ts';
import { type DateSlice, type Slice, sliceText } from '../slices/slice.ts';
import type { Task } from '../task/task.ts';
import { mayBeCut } from './answer/observe-answer.ts';
import { daysAsked } from './answer/observe-list.ts';
import { fullPage, type PageAnswer } from './fetch/fetch-page.ts';
import { capped, type PageReading } from './plan-window.ts';
import type { End } from './step.ts';

/** What is known of the list. It can change between pages, as their steps are committed. */
export function contextOf(
  { resource, state }: Task,
  plan: PageReading,
  reading: Reading,
  answer: PageAnswer | null,
  weight: Weight | null,
): ReadingContext {
  return {
    isSingleBody: isSingleBody(resource.profile) && !mayTurnPages(resource, plan.slice, answer),
    looksCut: answer !== null && mayBeCut(resource, answer, plan.slice),
    fullPage: shortestFullPage(resource, reading.limit),
    mayLackIds: isContentKeyed(resource.table),
    canCut: plan.cut !== undefined,
    isIdOrdered: isIdOrdered(resource.profile),
    cutsIfCountDiffers: plan.gathered === true || (state.tries.get(sliceText(plan.slice)) ?? 0) > 0,
    mostBelieved: plan.slice.by === 'date' && !plan.measures ? mostOf(resource, plan, plan.slice, weight) : null,
  };
}

/**
 * Whether a list that ignored the page number may turn pages by now: its one page has come again where that was its last. Longer than ever, or as long
 * as a page, the page behind tells.
 */
function mayTurnPages({ profile, entries }: Resource, slice: Slice, answer: PageAnswer | null): boolean {
  if (answer?.page !== 1) return false;
  const rows = answer.rows.length;
  const before = entries.get(sliceText(slice))?.rows ?? null;
  return (profile.pageSize !== null && rows >= profile.pageSize) || (before !== null && rows > before);
}

/** Rows of a page that may be full. While rows are missing, it may be as short as any source's: a count that is kept for long would end the list. */
const shortestFullPage = (resource: Resource, limit: number): number =>
  resource.holdsMissing && resource.profile.pageSize === null
    ? Math.min(fullPage(resource, limit), LEAST_PAGE)
    : fullPage(resource, limit);

/** Rows that are believed without a count. */
function mostOf(resource: Resource, plan: PageReading, slice: DateSlice, weight: Weight | null): number {
  const asked = daysAsked(plan);
  // A smaller window than a day cannot be asked for instead.
  const isCut = asked && plan.cut && weight && mayBeCutByWeight(resource.profile.longest, asked.field, weight);
  return isCut ? mostAlone(resource, slice) : mostUncounted(resource, slice);
}

/** Translates the outcome of a reading into the end that the engine applies. */
export function endOf(plan: PageReading, outcome: ReadingOutcome, startedAt: string): End {
  if (plan.measures) return plan.whenRead(startedAt);
  switch (outcome.kind) {
    case 'complete':
      return plan.whenRead(startedAt, outcome.reached ?? undefined);
    case 'cut':
      if (!plan.cut) throw new Error(`"${sliceText(plan.slice)}" cannot be cut`);
      return plan.cut(outcome.total, outcome.shown);
    case 'capped':
      return capped(plan.slice, outcome.rows, startedAt, plan.mayProve);
    case 'never stable':
      // Further passes would prove nothing either.
      return { ...unproven(reasonOf(outcome), startedAt), givenUp: true };
    case 'count differs':
      return {
        ...unproven(reasonOf(outcome), startedAt),
        miscounted: outcome.counted - outcome.shown,
        miscountedRows: outcome.rows,
      };
    case 'unsteady':
      return {
        ...unproven(reasonOf(outcome), startedAt),
        ...(outcome.rows === null ? {} : { miscountedRows: outcome.rows }),
      };
    default:
      return unproven(reasonOf(outcome), startedAt);
  }
}

export const unproven = (reason: string, startedAt: string) => ({ kind: 'unproven', reason, startedAt }) as const;

function reasonOf(outcome: Exclude<ReadingOutcome, { kind: 'complete' | 'cut' | 'capped' }>): string {
  switch (outcome.kind) {
    case 'unsteady':
      return 'the list changed while it was read';
    case 'count differs':
      return `the source counts ${outcome.counted} rows and showed ${outcome.shown}`;
    case 'never stable':
      return 'it showed different rows each time it was read';
    case 'too many pages':
      return `it did not end within ${outcome.pages} pages`;
  }
}
