import { variantPoints } from '../../../src/sandbox/variants/variant-points.ts';

/** What was found out about one open point, of all lists or of some. */
export interface Finding {
  /** A point of `sluice sandbox --variants`, or one of our own such as `search`. */
  readonly point: string;
  /** Where it is about some lists only. */
  readonly lists?: readonly string[];
  /** The variant's name; `unknown` for a behaviour that is none of them; null where it could not be told. */
  readonly seen: string | null;
  /** What showed it, or why it could not be told. */
  readonly evidence: string;
  /** `yes`, or `not: ` and why; null where nothing was seen. */
  readonly handled: 'yes' | `not: ${string}` | null;
}

/** Keeps what the work finds about these points. What can no longer be asked is told so, and the other points go on. */
export type Attempt = (points: readonly string[], work: () => Promise<Finding | Finding[]>) => Promise<void>;

export const UNKNOWN = 'unknown';

/** A known behaviour. Several names joined by `|`: the answer was one of these, which look alike from outside. */
export function told(point: string, seen: string, evidence: string, handled: Finding['handled'] = 'yes'): Finding {
  return { point, seen, evidence, handled };
}

/** A behaviour that is no variant we know. */
export function strange(point: string, evidence: string, handled: Finding['handled']): Finding {
  return { point, seen: UNKNOWN, evidence, handled };
}

export function untold(point: string, reason: string): Finding {
  return { point, seen: null, evidence: reason, handled: null };
}

/** What a value of a point means, in the words of `sluice sandbox --variants`. */
export function meaning(point: string, value: string): string | undefined {
  const values = (variantPoints as Record<string, { values: Record<string, string> }>)[point]?.values;
  return values && Object.hasOwn(values, value) ? values[value] : undefined;
}

export interface Candidates {
  readonly list: string;
  /** The values that the list's answers leave possible; none: it behaves as no variant does. */
  readonly values: readonly string[];
  readonly evidence: string;
  readonly handled?: Finding['handled'];
}

/**
 * One finding for all lists where one behaviour explains them all, else one for each behaviour. `preference` decides between
 * values that are all possible, the first first; without it they are said to look alike.
 */
export function agree(point: string, all: readonly Candidates[], preference?: readonly string[]): Finding[] {
  if (all.length === 0) return [untold(point, 'no list has enough rows to tell')];
  const common = all.reduce<readonly string[]>(
    (values, each) => values.filter(value => each.values.includes(value)),
    all[0]?.values ?? [],
  );
  const worst = (some: readonly Candidates[]) => some.find(each => each.handled && each.handled !== 'yes')?.handled;
  if (common.length > 0) {
    // The list that leaves the fewest values open is the one that shows it.
    const clearest = [...all].sort((a, b) => a.values.length - b.values.length)[0] as Candidates;
    return [told(point, pick(common, preference), `${clearest.list}: ${clearest.evidence}`, worst(all) ?? 'yes')];
  }
  const groups = new Map<string, Candidates[]>();
  for (const each of all) {
    const name = each.values.length === 0 ? `${UNKNOWN} ${each.evidence}` : pick(each.values, preference);
    groups.set(name, [...(groups.get(name) ?? []), each]);
  }
  return [...groups.entries()].map(([name, some]) => ({
    ...(name.startsWith(UNKNOWN)
      ? strange(point, some[0]?.evidence ?? '', worst(some) ?? 'yes')
      : told(point, name, some[0]?.evidence ?? '', worst(some) ?? 'yes')),
    lists: some.map(each => each.list),
  }));
}

function pick(values: readonly string[], preference?: readonly string[]): string {
  return preference?.find(value => values.includes(value)) ?? values.join('|');
}
