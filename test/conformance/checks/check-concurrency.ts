import { describeValue, type Finding, observed, undetermined, unrecognized } from '../findings/finding.ts';
import { pathOf } from '../lists/documented-lists.ts';
import type { Requester } from '../requests/requester.ts';

/** Requests sent at once: twice what Sluice sends by default. */
const BURST = 8;
/** By which a source refuses one request too many at once. */
const REFUSALS: readonly number[] = [429, 503];
/** A single refusal may be a fault. */
const LEAST_REFUSED = 2;

/** `concurrency`: how many of eight equal requests sent at once are served. It comes last, since refusals could disturb other checks. */
export async function checkConcurrency(requester: Requester): Promise<Finding> {
  const first = await sendBurst(requester);
  if (first.served === BURST) return observed('concurrency', 'any', `all ${evidenceOf(first)}`);
  if (!first.isCrowded) return undetermined('concurrency', `${evidenceOf(first)}; the others may have met a fault`);
  // Requests that start late overlap less, so that more are served: the fewest count.
  const second = await sendBurst(requester);
  const { served, status } = second.isCrowded && second.served < first.served ? second : first;
  const told = `${evidenceOf({ served })}, others got HTTP ${status}`;
  const value = status === 503 ? `${served}-503` : String(served);
  return describeValue('concurrency', value) === undefined
    ? unrecognized('concurrency', told, 'yes')
    : observed('concurrency', value, told);
}

interface Burst {
  readonly served: number;
  readonly status: number | undefined;
  /** All but a few were either served or refused, and more than one was refused. */
  readonly isCrowded: boolean;
}

async function sendBurst(requester: Requester): Promise<Burst> {
  const answers = await requester.burst(pathOf('customers'), { query: { page: 1, limit: 1 } }, BURST);
  const statuses = answers.flatMap(answer => ('fault' in answer ? [] : [answer.status]));
  const refused = statuses.filter(status => REFUSALS.includes(status));
  const served = statuses.filter(status => status >= 200 && status < 300).length;
  const isCrowded = refused.length >= LEAST_REFUSED && served + refused.length >= BURST - 1;
  return { served, status: refused[0], isCrowded };
}

const evidenceOf = ({ served }: Pick<Burst, 'served'>): string =>
  `${served} of ${BURST} requests sent at once were served`;
