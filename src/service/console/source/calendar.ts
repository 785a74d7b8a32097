import type { Entry } from '../../../engine/slices/coverage-entry.ts';

/** How a month is covered: proven equal at that moment (epoch ms), never read, or not there yet. */
export type MonthProof = number | 'never' | 'future';

export interface Calendar {
  /** The newest year first; `months` are January to December. */
  readonly years: readonly { readonly year: number; readonly months: readonly MonthProof[] }[];
  /** Everything before the first of these years; null where nothing precedes it. */
  readonly earlier: Exclude<MonthProof, 'future'> | null;
}

/** Years drawn; those before them are one line. */
const MOST_YEARS = 10;

/**
 * When each month of a list was last proven equal: as of the oldest proof among the slices that hold a part of it. Null where the list is not
 * read by date. `today`: `2026-01-31`.
 */
export function calendarOf(entries: readonly Entry[], today: string): Calendar | null {
  const slices = entries.flatMap(({ slice, provenAt }) =>
    slice.by === 'date' ? [{ from: slice.from ?? '', to: slice.to ?? '9999-12-31', provenAt }] : [],
  );
  if (slices.length === 0) return null;
  const proofOf = (from: string, to: string) => {
    const held = slices.filter(slice => slice.from <= to && slice.to >= from);
    const proofs = held.map(({ provenAt }) => provenAt);
    return proofs.length === 0 || proofs.includes(null) ? 'never' : Math.min(...(proofs as number[]));
  };
  const lastYear = Number(today.slice(0, 4));
  const bounds = slices.flatMap(({ from, to }) => [from, to]).filter(day => day !== '' && day <= today);
  const firstBound = bounds.sort()[0];
  const firstYear = Math.max(
    firstBound === undefined ? lastYear : Number(firstBound.slice(0, 4)),
    lastYear - MOST_YEARS + 1,
  );
  const years = [];
  for (let year = lastYear; year >= firstYear; year--) {
    const months: MonthProof[] = [];
    for (let month = 1; month <= 12; month++) {
      const name = `${year}-${String(month).padStart(2, '0')}`;
      months.push(`${name}-01` > today ? 'future' : proofOf(`${name}-01`, `${name}-31`));
    }
    years.push({ year, months });
  }
  const eve = `${firstYear - 1}-12-31`;
  return { years, earlier: slices.some(({ from }) => from <= eve) ? proofOf('', eve) : null };
}
