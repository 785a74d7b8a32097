import type { Asked } from './ask.ts';
import { COMPARED, type RowHistory, type Values } from './row-history.ts';

/** How an answer differs from all that the source was between the moment that it claims and its arrival; none if it is right. */
export function judge({ question, from, to, rows, asOf }: Asked, history: RowHistory, ids: Iterable<number>): string[] {
  const { list, isAbout, maxAgeMs, sql } = question;
  const wrong = (text: string) => `${sql}, at most ${maxAgeMs} ms old: ${text}`;
  if (asOf === null) return [wrong('no moment is claimed')];
  if (asOf < from - maxAgeMs) return [wrong(`as of ${from - asOf} ms before the question`)];
  const problems: string[] = [];
  const shown = new Map(rows.map(row => [Number(row[0]), row]));
  for (const [id, row] of shown) {
    const was = history.during(list, id, asOf, to);
    if (!was.some(values => values !== null && isAbout(values) && isSame(list, values, row)))
      problems.push(wrong(`row ${id} was never like this: ${row.join(', ')}`));
  }
  for (const id of ids) {
    if (shown.has(id)) continue;
    const was = history.during(list, id, asOf, to);
    if (was.every(values => values !== null && isAbout(values))) problems.push(wrong(`row ${id} is lacking`));
  }
  return problems;
}

/** Amounts are equal as numbers. */
const isSame = (list: Asked['question']['list'], source: Values, answer: Values): boolean =>
  COMPARED[list].every((name, place) => {
    const [expected = null, found = null] = [source[place], answer[place]];
    return name === 'amount' ? Number(expected) === Number(found) : expected === found;
  });
