import { variantPoints } from '../../../sandbox/variants/variant-points.ts';

/** What the run found out about one open point. */
export interface Finding {
  /** A point of `sluice sandbox --variants`, or an additional one such as `search`. */
  readonly point: string;
  /** The lists it applies to, if not to all. */
  readonly lists?: readonly string[];
  /** The name of the variant; `unknown` for any other behaviour; null if not determined. */
  readonly seen: string | null;
  /** What showed it, or why it was not determined. */
  readonly evidence: string;
  /** `yes`, or `not: ` and the reason; null if not determined. */
  readonly handled: 'yes' | `not: ${string}` | null;
}

/** Records the findings of a check. If it cannot run, its points are recorded as not determined, and later checks still run. */
export type Attempt = (points: readonly string[], work: () => Promise<Finding | Finding[]>) => Promise<void>;

export const UNKNOWN = 'unknown';

/** A known behaviour. Names joined by `|` cannot be distinguished. */
export function observed(point: string, seen: string, evidence: string, handled: Finding['handled'] = 'yes'): Finding {
  return { point, seen, evidence, handled };
}

/** A behaviour that is none of the known variants. */
export function unrecognized(point: string, evidence: string, handled: Finding['handled']): Finding {
  return { point, seen: UNKNOWN, evidence, handled };
}

export function undetermined(point: string, reason: string): Finding {
  return { point, seen: null, evidence: reason, handled: null };
}

/** The description of a value in `sluice sandbox --variants`. */
export function describeValue(point: string, value: string): string | undefined {
  const values = (variantPoints as Record<string, { values: Record<string, string> }>)[point]?.values;
  return values && Object.hasOwn(values, value) ? values[value] : undefined;
}

export interface Candidates {
  readonly list: string;
  /** The values consistent with the answers of the list; none if it behaves like no known variant. */
  readonly values: readonly string[];
  readonly evidence: string;
  readonly handled?: Finding['handled'];
}

/**
 * One finding for all lists if one behaviour explains them all, otherwise one for each behaviour. `preference` orders values
 * that are equally possible; without it they are joined by `|`.
 */
export function combineLists(point: string, all: readonly Candidates[], preference?: readonly string[]): Finding[] {
  if (all.length === 0) return [undetermined(point, 'no list has enough rows')];
  const common = all.reduce<readonly string[]>(
    (values, each) => values.filter(value => each.values.includes(value)),
    all[0]?.values ?? [],
  );
  const worst = (some: readonly Candidates[]) => some.find(each => each.handled && each.handled !== 'yes')?.handled;
  if (common.length > 0) {
    // The list with the fewest possible values is the best evidence.
    const clearest = [...all].sort((a, b) => a.values.length - b.values.length)[0] as Candidates;
    return [observed(point, pick(common, preference), `${clearest.list}: ${clearest.evidence}`, worst(all) ?? 'yes')];
  }
  const groups = new Map<string, Candidates[]>();
  for (const each of all) {
    const name = each.values.length === 0 ? `${UNKNOWN} ${each.evidence}` : pick(each.values, preference);
    groups.set(name, [...(groups.get(name) ?? []), each]);
  }
  return [...groups.entries()].map(([name, some]) => ({
    ...(name.startsWith(UNKNOWN)
      ? unrecognized(point, some[0]?.evidence ?? '', worst(some) ?? 'yes')
      : observed(point, name, some[0]?.evidence ?? '', worst(some) ?? 'yes')),
    lists: some.map(each => each.list),
  }));
}

function pick(values: readonly string[], preference?: readonly string[]): string {
  return preference?.find(value => values.includes(value)) ?? values.join('|');
}
