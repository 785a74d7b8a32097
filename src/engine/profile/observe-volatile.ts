import { HOUR, stampMs } from '../../clock.ts';
import type { Observation } from './observation.ts';

/** Unknown fields of a list that have another value in nearly every answer, such as a signed address. */
export interface Volatile {
  /** Their changes are no changes of a row. */
  readonly fields: readonly string[];
  /** Fields that seem to be so, and since when (epoch ms): somebody may have changed them in all rows once. */
  readonly suspects: Readonly<Record<string, number>>;
}

export const NOT_VOLATILE: Volatile = { fields: [], suspects: {} };

/** Answers of the list differ each time, or may do so. */
export const isRestless = ({ fields, suspects }: Volatile): boolean => fields.length + Object.keys(suspects).length > 0;

/** What a process has seen of unknown fields: what some rows showed last, and by field how often it came again. */
export interface SeenExtras {
  readonly rows: ReadonlyMap<string, Shown>;
  readonly fields: ReadonlyMap<string, Again>;
}

interface Shown {
  /** The declared fields of the row and of its child rows, as one text. */
  readonly rest: string;
  /** The unknown fields as JSON. */
  readonly extra: string;
  readonly readAt: string;
}

/** How often a field came again in a row that was otherwise as before, and how often with another value. */
interface Again {
  readonly times: number;
  readonly changed: number;
}

/** A row as an answer shows it. */
interface ShownRow {
  readonly key: string;
  readonly values: Readonly<Record<string, string | null>>;
  readonly children: Readonly<Record<string, readonly { readonly values: object }[]>>;
  /** JSON. */
  readonly extra: string | null;
  readonly readAt: string;
  readonly onlyIfNew?: boolean;
}

export const NO_EXTRAS: SeenExtras = { rows: new Map(), fields: new Map() };

/** What lies further apart says nothing: a field that is worked out anew each night is no volatile one. */
const MOST_APART = HOUR;

/** Rows that are watched, and how often a field must have come again before it is judged. */
const MOST_ROWS = 200;
const FEWEST = 40;
/** Of these, so many are another value in a volatile field, and at most so many in one that is not. */
const CHANGING = 0.95;
const STEADY = 0.5;

/** A field that was judged is counted anew; a suspect, only by what was read since. */
export function seeExtras(
  { rows, fields }: SeenExtras,
  { suspects }: Volatile,
  shown: readonly ShownRow[],
): SeenExtras {
  const nextRows = new Map(rows);
  const nextFields = new Map([...fields].filter(([, { times }]) => times < FEWEST));
  for (const { key, values, children, extra, readAt, onlyIfNew } of shown) {
    const before = nextRows.get(key);
    if (extra === null || onlyIfNew || (before === undefined && nextRows.size >= MOST_ROWS)) continue;
    const lines = Object.entries(children).map(([field, items]) => [field, items.map(item => item.values)]);
    const rest = JSON.stringify([values, lines]);
    nextRows.set(key, { rest, extra, readAt });
    if (before === undefined || before.rest !== rest) continue;
    const readBefore = stampMs(before.readAt);
    if (stampMs(readAt) - readBefore > MOST_APART) continue;
    for (const [field, isOther] of comparedFields(before.extra, extra)) {
      if (readBefore < (suspects[field] ?? 0)) continue;
      const { times, changed } = nextFields.get(field) ?? { times: 0, changed: 0 };
      nextFields.set(field, { times: times + 1, changed: changed + Number(isOther) });
    }
  }
  return { rows: nextRows, fields: nextFields };
}

/** The fields that both carry, and whether they differ. */
function comparedFields(before: string, after: string): [field: string, isOther: boolean][] {
  const [was, is] = [JSON.parse(before), JSON.parse(after)] as Readonly<Record<string, unknown>>[];
  return Object.keys(is ?? {})
    .filter(field => Object.hasOwn(was ?? {}, field))
    .map(field => [field, before !== after && JSON.stringify(was?.[field]) !== JSON.stringify(is?.[field])]);
}

/** What follows from what was seen until `at` (epoch ms): a field is first suspected, then volatile, until it is steady. */
export function observeVolatile(known: Volatile, { fields: seen }: SeenExtras, at: number): Observation[] {
  const fields = new Set(known.fields);
  const suspects = new Map(Object.entries(known.suspects));
  let evidence = '';
  for (const [field, { times, changed }] of seen) {
    if (times < FEWEST) continue;
    const isSteady = changed <= STEADY * times;
    const isKnown = fields.has(field) || suspects.has(field);
    if (isSteady ? !isKnown : fields.has(field) || changed < CHANGING * times) continue;
    if (isSteady || suspects.has(field)) suspects.delete(field);
    else suspects.set(field, at);
    if (isSteady) fields.delete(field);
    else if (!suspects.has(field)) fields.add(field);
    evidence = `${changed} of ${times} rows that were otherwise unchanged came with another ${field}`;
  }
  const value = volatileText({ fields: [...fields], suspects: Object.fromEntries(suspects) });
  return evidence === '' ? [] : [{ trait: 'volatile', value, evidence }];
}

export const volatileText = ({ fields, suspects }: Volatile): string =>
  JSON.stringify({ fields: [...fields].sort(), suspects });
