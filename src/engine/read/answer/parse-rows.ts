import { isObject } from '../../../source/answers/json.ts';
import { isContentKey, isNumberedKey, unreadableKey } from '../../../source/paging/row-key.ts';
import type { BadRecord } from '../../../warehouse/rows/quarantine.ts';
import type { Row } from '../../../warehouse/rows/write/row.ts';
import { groupBy } from '../../group-by.ts';
import { fieldsBesideKey } from '../../job.ts';
import { hasVanished } from '../../profile/field-drift.ts';
import { newFields } from '../../profile/observe-rows.ts';
import type { Resource } from '../../resource.ts';
import type { PageAnswer } from '../fetch/fetch-page.ts';

/** The fields of the records of an answer. */
export interface AnswerFields {
  /** Those that the job does not declare; `items.discount`: of child rows. */
  readonly unknown: ReadonlySet<string>;
  /** Declared fields that the list used to carry, and that no record carries. */
  readonly omitted: readonly string[];
}

export interface ParsedRows {
  readonly rows: Row[];
  readonly bad: BadRecord[];
  /** How many of both came with invalid bytes. */
  readonly replaced: number;
  /** Keys of `rows` and `bad`. */
  readonly keys: string[];
  readonly fields: AnswerFields;
  /** Fields that rows of the list carry, those of the answer included. */
  readonly listed: ReadonlySet<string>;
  /** The key of the last row as it came. */
  readonly last: string | null;
}

/**
 * Parses the rows of an answer. Equal rows without an id are numbered, continuing after those in `seen`; equal records that cannot be
 * read after those in `shown`, the keys of this pass. `isRelated`: the list of one value, which may show lighter records than the list itself:
 * those replace no row.
 */
export function parseRows(
  resource: Resource,
  answer: Pick<PageAnswer, 'rows' | 'grantedAt' | 'replaced' | 'known'>,
  seen: { has(key: string): boolean },
  shown: { has(key: string): boolean } = seen,
  isRelated = false,
): ParsedRows {
  if (answer.known) return withoutNews(answer.known.keys);
  const rows: Row[] = [];
  const bad: BadRecord[] = [];
  const bare: Row[] = [];
  const { listed, omitted, isLighter } = fieldsOf(resource, answer.rows, isRelated);
  const unknown = new Set<string>();
  let last: string | null = null;
  for (const raw of answer.rows) {
    const parsed = resource.parse(raw, answer.grantedAt, listed, unknown);
    last = 'bad' in parsed ? parsed.bad.key : parsed.row.key;
    if ('bad' in parsed) bad.push(parsed.bad);
    else if (isContentKey(parsed.row.key)) bare.push(parsed.row);
    else rows.push(isLighter ? { ...parsed.row, onlyIfNew: true } : parsed.row);
  }
  const here = new Set(rows.map(row => row.key));
  for (const [content, group] of groupBy(bare, row => row.key)) {
    let ordinal = 1;
    // Sorted by their unknown fields, so that each gets the same number whatever the order of the answer.
    for (const row of group.sort(byExtra)) {
      while (seen.has(`${content}/${ordinal}`) || here.has(`${content}/${ordinal}`)) ordinal++;
      here.add(`${content}/${ordinal}`);
      rows.push({ ...row, key: `${content}/${ordinal}` });
    }
  }
  const numbered = bad.map(numbering(shown));
  for (const record of numbered) here.add(record.key);
  return {
    rows,
    bad: numbered,
    replaced: answer.replaced ?? 0,
    keys: [...here],
    fields: { unknown, omitted },
    listed,
    last: last === null ? null : lastShown(last, here, seen),
  };
}

/** Of an answer that came before: its rows have taught what they can teach. */
const withoutNews = (keys: readonly string[]): ParsedRows => ({
  rows: [],
  bad: [],
  replaced: 0,
  keys: [...keys],
  fields: { unknown: new Set(), omitted: [] },
  listed: new Set(),
  last: keys.at(-1) ?? null,
});

/** The key of the last row; of equal rows without an id, that of the last one shown: one more of them moves the end. */
function lastShown(key: string, here: { has(key: string): boolean }, seen: { has(key: string): boolean }): string {
  if (!isContentKey(key)) return key;
  let ordinal = 1;
  while (here.has(`${key}/${ordinal + 1}`) || seen.has(`${key}/${ordinal + 1}`)) ordinal++;
  return `${key}/${ordinal}`;
}

/** Numbers equal records that cannot be told apart: one more of them may be a row that is shown no longer. */
function numbering(shown: { has(key: string): boolean }): (record: BadRecord) => BadRecord {
  const last = new Map<string, number>();
  return record => {
    if (!isNumberedKey(record.key)) return record;
    let ordinal = (last.get(record.key) ?? 0) + 1;
    while (shown.has(unreadableKey(record.key, ordinal))) ordinal++;
    last.set(record.key, ordinal);
    return { ...record, key: unreadableKey(record.key, ordinal) };
  };
}

/** The fields that rows of the list carry, and those that none of these does. Rows without an id are known by the content that they show. */
function fieldsOf({ job, profile }: Resource, rows: readonly unknown[], isRelated: boolean) {
  const declared = fieldsBesideKey(job);
  const isCarried = (field: string) => rows.some(raw => isObject(raw) && field in raw);
  const here = newFields(profile, declared, isCarried);
  const listed = here.length === 0 ? profile.fields : new Set([...profile.fields, ...here]);
  const omitted = declared.filter(field => profile.fields.has(field) && !isCarried(field));
  const isLacking = (field: string) => isRelated && omitted.includes(field) && !hasVanished(profile, field);
  if (!omitted.some(isLacking)) return { listed, omitted, isLighter: false };
  return {
    listed: new Set([...listed].filter(field => !isLacking(field))),
    omitted: omitted.filter(field => !isLacking(field)),
    isLighter: true,
  };
}

/** The order in which equal rows without an id are numbered. */
export const byExtra = ({ extra: a }: Row, { extra: b }: Row): number => compareTexts(a ?? '', b ?? '');

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
