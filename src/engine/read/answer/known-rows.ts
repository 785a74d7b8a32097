import { isContentKey } from '../../../source/paging/row-key.ts';
import { fieldsText } from '../../profile/observe-rows.ts';
import type { Resource } from '../../resource.ts';
import type { PageAnswer } from '../fetch/fetch-page.ts';
import type { Step } from '../step.ts';
import { type ParsedRows, parseRows } from './parse-rows.ts';

/** What a step shows of an answer that came before, and what is to be known of one that did not. */
export function recalled(
  resource: Resource,
  answer: PageAnswer,
  parsed: ParsedRows,
): Pick<Step, 'known' | 'keep' | 'deep'> {
  const { known } = answer;
  if (known === undefined) {
    const keep = keepOf(answer, parsed);
    // A row was edited: the others are compared in full, so that the answer can be known again.
    return { keep, deep: keep !== undefined && answer.before?.keys.join() === keep.keys.join() };
  }
  const instead = () => {
    const { known: _, ...given } = answer;
    const read = { ...given, rows: known.reread() };
    const again = parseRows(resource, read, new Set());
    const { rows, bad, replaced, fields } = again;
    // Something is stored otherwise, whatever its hash says.
    return { rows, bad, replaced, fields, keep: keepOf(read, again), deep: true };
  };
  return { known: { keys: known.keys, checksum: known.checksum, instead } };
}

/** Only an answer that became rows as it came, each of them once and by its own id. */
function keepOf(answer: PageAnswer, { rows, bad, replaced, keys, listed }: ParsedRows): Step['keep'] {
  const { mark, page, limit, unordered, thinned } = answer;
  const isPlain = bad.length === 0 && replaced === 0 && !unordered && thinned === undefined;
  const isWhole = rows.length === answer.rows.length && keys.length === rows.length && !rows.some(row => row.onlyIfNew);
  return mark && isPlain && isWhole && keys.length > 0 && !keys.some(isContentKey)
    ? { ...mark, page, limit, fields: fieldsText(listed), keys }
    : undefined;
}
