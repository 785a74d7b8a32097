/**
 * The name that was probably meant by `given`: the one that takes the fewest insertions, deletions, replacements and swaps of
 * neighbours, at most one for every three letters. Undefined if none is that close. Case does not count.
 */
export function nearestName(given: string, names: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let least = Math.max(Math.floor(given.length / 3), 1) + 1;
  for (const name of names) {
    const distance = editDistance(given.toLowerCase(), name.toLowerCase());
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

/** ` (did you mean "amount"?)`, to follow a wrong name; empty if no name is near. */
export function didYouMean(given: string, names: Iterable<string>): string {
  const nearest = nearestName(given, names);
  return nearest === undefined ? '' : ` (did you mean "${nearest}"?)`;
}

/** Optimal string alignment: the rows of the usual table, of which a swap needs the last two. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const edits = [(above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (above[j - 1] ?? 0) + (same ? 0 : 1)];
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) edits.push((before[j - 2] ?? 0) + 1);
      row.push(Math.min(...edits));
    }
    before = above;
    above = row;
  }
  return above[b.length] ?? 0;
}
