import { visibleText } from '../../visible-text.ts';
import type { Job } from '../job.ts';
import { type FieldDrift, type FieldNews, MOST_NAMES } from '../profile/field-drift.ts';

/** What a field that appeared or vanished means for whoever queries the list. */
export function meaningOf(resource: string, { children }: Pick<Job, 'children'>, { field, kind }: FieldNews): string {
  if (kind === 'vanished') return 'No row carries it any more. What is stored stays until the loss is accepted.';
  const parent = Object.keys(children).find(each => field.startsWith(`${each}.`));
  const table = parent === undefined ? resource : children[parent]?.table;
  const name = parent === undefined ? field : field.slice(parent.length + 1);
  const query = `select _extra->>'${visibleText(name.replaceAll("'", "''"))}' from ${table}`;
  return `Kept in _extra: ${query}. To give it a column: sluice fields ${resource}`;
}

const MOST_TOLD = 10;

/** `amount_v2, discount and 3 more`. */
function listed(news: readonly FieldNews[]): string {
  const names = news.slice(0, MOST_TOLD).map(({ field }) => visibleText(field));
  const rest = news.length - names.length;
  return rest > 0 ? `${names.join(', ')} and ${rest} more` : names.join(', ');
}

/** The message about fields that changed at the same time, and what to do about the first of each kind. */
export function composeNotice(
  resource: string,
  job: Pick<Job, 'children'>,
  { news, drift }: { readonly news: readonly FieldNews[]; readonly drift: FieldDrift },
): { message: string; next: string } {
  const appeared = news.filter(({ kind }) => kind === 'new');
  const vanished = news.filter(({ kind }) => kind === 'vanished');
  const sentences = [
    ...(appeared.length > 0 ? [`New fields of ${resource}: ${listed(appeared)}.`] : []),
    ...(vanished.length > 0 ? [`Fields that ${resource} no longer shows: ${listed(vanished)}.`] : []),
    ...(appeared.length > 0 && drift.unknown.size === MOST_NAMES
      ? [`With ${MOST_NAMES} unknown fields, further ones are not reported.`]
      : []),
  ];
  const firsts = [appeared[0], vanished[0]].filter(each => each !== undefined);
  return { message: sentences.join(' '), next: firsts.map(each => meaningOf(resource, job, each)).join(' ') };
}
