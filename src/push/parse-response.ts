import { deniesSuccess, holdsError, oneLine } from '../source/answers/envelope.ts';
import { isObject } from '../source/answers/json.ts';
import { shorten } from '../source/answers/text.ts';
import type { PushItem, PushNews } from '../warehouse/pushes/pushes.ts';
import type { SendResult } from './sender.ts';

/** The new states of the lines of a request. `hide` removes the key from messages of the answer; errors do not hold it. */
export function updatesOf(
  result: SendResult,
  items: readonly PushItem[],
  batch: boolean,
  hide: (text: string) => string,
): PushNews[] {
  if (result.kind === 'answered') {
    const { body } = result;
    const entries = batch ? parseBatch(body, items.length) : [createdAs(parseCreatedId(body))];
    return items.map(({ id }, index): PushNews => {
      const entry = entries[index];
      // A source that names no record, as with status 202, may create it after its answer.
      if (entry?.kind === 'created')
        return { id, state: 'created', sourceId: entry.sourceId, quiet: entry.sourceId !== null };
      if (entry?.kind === 'refused')
        return { id, state: 'refused', message: shorten(hide(entry.message)), quiet: true };
      const message = 'The source answered the batch without reporting this entry.';
      return { id, state: 'unknown', message, quiet: false };
    });
  }
  const { message, fields } = result.error;
  if (result.kind !== 'refused' || (batch && isBatchUnsupported(result))) {
    const state = result.kind === 'unknown' ? 'unknown' : 'planned';
    return items.map(({ id }) => ({ id, state, message }));
  }
  const refused = batch ? parseRefusedEntries(fields, items.length) : new Map<number, string>();
  // It is not documented whether a refused batch creates its valid entries, so the others are looked up.
  return items.map(({ id }, index): PushNews => {
    const reason = refused.get(index);
    if (reason !== undefined || items.length === 1)
      return { id, state: 'refused', message: reason ?? message, quiet: true };
    return { id, state: 'unknown', message: `The batch was refused: ${message}`, quiet: true };
  });
}

/** The source has no batch endpoint, so no entry was carried out. */
export const isBatchUnsupported = (result: SendResult): boolean =>
  result.kind === 'refused' && (result.error.status === 404 || result.error.status === 405);

/** What the answer to a batch reports about one entry; `unknown`: nothing reliable. */
type EntryResult =
  | { readonly kind: 'created'; readonly sourceId: string | null }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'unknown' };

const UNKNOWN: EntryResult = { kind: 'unknown' };
const createdAs = (sourceId: string | null): EntryResult => ({ kind: 'created', sourceId });

/** The id in the answer to a create, or null if it has none: the API's document does not show such answers. */
export function parseCreatedId(body: Readonly<Record<string, unknown>>): string | null {
  const { data } = body;
  const record = isObject(data) ? data : body;
  // Some sources nest the record under its own name.
  const nested = Object.values(record).filter(isObject);
  return idOf(record) ?? (nested.length === 1 ? idOf(nested[0] as object) : null);
}

/**
 * The result of each of the `count` entries of a batch. The answer is not documented, so only an unambiguous one is used: a list of as many
 * results. All other entries are looked up in the source.
 */
export function parseBatch(body: Readonly<Record<string, unknown>>, count: number): EntryResult[] {
  const lists = [body.data, ...(isObject(body.data) ? Object.values(body.data) : [])].filter(Array.isArray);
  const list = lists.find(each => each.length === count && each.every(isObject)) as object[] | undefined;
  const results = Array.from({ length: count }, () => UNKNOWN);
  if (lists.length !== 1 || !list) return results;
  const positions = list.map(result => ('index' in result ? result.index : undefined));
  const numbered =
    new Set(positions).size === count &&
    positions.every(at => typeof at === 'number' && Number.isInteger(at) && at in results);
  for (const [index, result] of list.entries())
    results[numbered ? (positions[index] as number) : index] = parseEntry(result);
  return results;
}

function parseEntry(result: object): EntryResult {
  const { success, errors, error, data } = result as Readonly<Record<string, unknown>>;
  const reported = [errors, error].find(holdsError);
  // Null says too little to repeat the entry; it is looked up.
  const says = success === null || success === undefined ? null : !deniesSuccess(success);
  if (says === false) return { kind: 'refused', message: errorText(reported) };
  const sourceId = idOf(result) ?? (isObject(data) ? idOf(data) : null);
  const seemsCreated = says === true || sourceId !== null;
  // What seems to be created in spite of an error is looked up, too: sent once more, it may be there twice.
  if (reported !== undefined) return seemsCreated ? UNKNOWN : { kind: 'refused', message: errorText(reported) };
  return seemsCreated ? createdAs(sourceId) : UNKNOWN;
}

/** The entries that a refused batch names in its field messages, such as `customers.3.email` or `customers[3].email`, by index. */
export function parseRefusedEntries(
  fields: Readonly<Record<string, string>> | undefined,
  count: number,
): Map<number, string> {
  const refused = new Map<number, string>();
  for (const [field, message] of Object.entries(fields ?? {})) {
    const place = /(?:^|[.[])(\d{1,9})(?:\]?\.|\]|$)/.exec(field);
    const index = Number(place?.[1]);
    if (place === null || index >= count) continue;
    const rest = field.slice(place.index + place[0].length);
    const text = `${rest ? `${rest}: ` : ''}${message}`;
    refused.set(index, refused.has(index) ? `${refused.get(index)}; ${text}` : text);
  }
  return refused;
}

function idOf(record: object): string | null {
  const { id } = record as { id?: unknown };
  const text = typeof id === 'number' || typeof id === 'string' ? String(id) : '';
  return /^\d{1,19}$/.test(text) ? text : null;
}

function errorText(reported: unknown): string {
  const text = isObject(reported)
    ? Object.entries(reported)
        .filter(([, message]) => holdsError(message))
        .map(([field, message]) => `${field}: ${String(message)}`)
        .join('; ')
    : Array.isArray(reported)
      ? reported.filter(holdsError).join('; ')
      : typeof reported === 'string'
        ? reported
        : 'refused without a reason';
  return oneLine(text);
}
