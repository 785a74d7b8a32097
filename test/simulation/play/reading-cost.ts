import type { Step } from '../../../src/engine/read/step.ts';
import { sliceText } from '../../../src/engine/slices/slice.ts';
import { type Plan, rowsPerRequest } from '../plan/plan.ts';

/** A list without a count is read so many times over before it is left in doubt. */
const MOST_PASSES = 8;
/** Answers of a pass beyond those that its rows fill: one that is partly filled, and one past the end. */
const BESIDE = 2;
/** Every tenth answer may be a fault, whose request is repeated. */
const WITH_RETRIES = 1.25;

interface Spent {
  requests: number;
  readonly keys: Set<string>;
}

/** Checks each reading as it is committed; returns what it spent if that is more than its rows explain. */
export function createReadingCheck(plan: Plan): (step: Step) => string | null {
  // A doubled count promises twice as many pages, and they are asked for; so are those whose rows are taken out.
  const { totals, pages } = plan.variants;
  const promised = (totals === 'doubled' ? 2 : 1) * (pages === 'thinned' ? 3 : 1);
  const readings = new Map<string, Spent>();
  return ({ resource, task, slice, rows, known, bad, requests, end }) => {
    const name = `${resource.name} ${sliceText(slice)}`;
    const id = `${task.runId} ${name}`;
    const spent = readings.get(id) ?? { requests: 0, keys: new Set() };
    spent.requests += requests;
    for (const key of [...[...rows, ...bad].map(each => each.key), ...(known?.keys ?? [])]) spent.keys.add(key);
    readings.set(id, spent);
    if (end === undefined) return null;
    readings.delete(id);
    // A report answers one month a request.
    const each = resource.name === 'financial_summaries' ? 1 : rowsPerRequest(plan);
    const most = MOST_PASSES * (Math.ceil((promised * spent.keys.size) / each) + BESIDE) * WITH_RETRIES;
    if (spent.requests <= most) return null;
    return `a reading of ${name} sent ${spent.requests} requests for ${spent.keys.size} rows`;
  };
}
