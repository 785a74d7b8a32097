import { stampMs } from '../../clock.ts';
import type { Observation } from './observation.ts';

/** A stored row that the list of its value lacked, although no slice did. It has left both, or the filter does not show it. */
export interface LackedByValue {
  readonly key: string;
  readonly value: string;
  /** When that list was requested (epoch ms). */
  readonly at: number;
}

/** The row to look for, out of those that the list of this value lacked: the one that is looked for already, if it is among them. */
export function observeLackedByValue(
  known: LackedByValue | null,
  keys: readonly string[],
  { value, at, evidence }: Pick<LackedByValue, 'value' | 'at'> & { readonly evidence: string },
): Observation[] {
  const [key] = keys;
  if (key === undefined || (known?.value === value && keys.includes(known.key))) return [];
  const lacked: LackedByValue = { key, value, at };
  return [{ trait: 'lacked by value', value: JSON.stringify(lacked), evidence }];
}

/** A slice that was read later, and no longer lags behind, shows the row with the same value: the filter does not show all rows of a value. */
export function observeCutFilter(
  lacked: LackedByValue | null,
  field: string | null,
  rows: readonly {
    readonly key: string;
    readonly values: Readonly<Record<string, string | null>>;
    readonly readAt: string;
  }[],
  lagMs: number,
): Observation[] {
  if (lacked === null || field === null) return [];
  const isShown = rows.some(
    ({ key, values, readAt }) =>
      key === lacked.key && values[field] === lacked.value && stampMs(readAt) > lacked.at + lagMs,
  );
  const evidence = `asked for ${field}=${lacked.value}, did not get row ${lacked.key}, which the list shows`;
  return isShown ? [{ trait: `filter ${field}`, value: 'cut', evidence }] : [];
}
