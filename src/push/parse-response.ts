import { shorten } from '../source/answers/shorten.ts';

/** What a source says about one entry of a batch; `untold`: nothing that can be relied on. */
export type Told =
  | { readonly kind: 'created'; readonly sourceId: string | null }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'untold' };

const UNTOLD: Told = { kind: 'untold' };

/** The id in the answer to a create; null where it names none: how such answers look is not documented. */
export function createdId(body: Readonly<Record<string, unknown>>): string | null {
  const { data } = body;
  const holder = isObject(data) ? data : body;
  // Some put the thing under its own name.
  const only = Object.values(holder).filter(isObject);
  return idIn(holder) ?? (only.length === 1 ? idIn(only[0] as object) : null);
}

/**
 * What the answer to a batch says of each of its `count` entries. It is not documented, so only what can mean just one thing is
 * taken: a list of as many results. The rest is found out by looking at the source. `hide` takes the key out of a message.
 */
export function readBatch(
  body: Readonly<Record<string, unknown>>,
  count: number,
  hide: (text: string) => string,
): Told[] {
  const lists = [body.data, ...(isObject(body.data) ? Object.values(body.data) : [])].filter(Array.isArray);
  const list = lists.find(each => each.length === count && each.every(isObject)) as object[] | undefined;
  const told = Array.from({ length: count }, () => UNTOLD);
  if (lists.length !== 1 || !list) return told;
  const places = list.map(result => ('index' in result ? result.index : undefined));
  const numbered =
    new Set(places).size === count && places.every(at => typeof at === 'number' && Number.isInteger(at) && at in told);
  for (const [index, result] of list.entries())
    told[numbered ? (places[index] as number) : index] = toldIn(result, hide);
  return told;
}

function toldIn(result: object, hide: (text: string) => string): Told {
  const { success, errors, error, data } = result as Readonly<Record<string, unknown>>;
  const wrong = errors ?? error;
  if (success === false || isFilled(wrong)) return { kind: 'refused', message: wrongText(wrong, hide) };
  const sourceId = idIn(result) ?? (isObject(data) ? idIn(data) : null);
  return success === true || sourceId !== null ? { kind: 'created', sourceId } : UNTOLD;
}

/** Which entries of a refused batch the field messages name, as `customers.3.email` or `customers[3].email` does. */
export function namedEntries(fields: Readonly<Record<string, string>> | undefined, count: number): Map<number, string> {
  const named = new Map<number, string>();
  for (const [field, message] of Object.entries(fields ?? {})) {
    const [, number, rest = ''] = /(?:^|[.[])(\d+)(?:\]?\.|\]|$)(.*)$/.exec(field) ?? [];
    const index = Number(number);
    if (number === undefined || index >= count) continue;
    const text = `${rest ? `${rest}: ` : ''}${message}`;
    named.set(index, named.has(index) ? `${named.get(index)}; ${text}` : text);
  }
  return named;
}

function idIn(holder: object): string | null {
  const { id } = holder as { id?: unknown };
  const text = typeof id === 'number' || typeof id === 'string' ? String(id) : '';
  return /^\d{1,19}$/.test(text) ? text : null;
}

/** Control characters: a server's message must not steer a terminal. Cut when the key is out of it: half a key would not be recognised. */
function wrongText(wrong: unknown, hide: (text: string) => string): string {
  const text = isObject(wrong)
    ? Object.entries(wrong)
        .map(([field, message]) => `${field}: ${String(message)}`)
        .join('; ')
    : typeof wrong === 'string'
      ? wrong
      : 'refused without a reason';
  return shorten(hide(text.replace(/[\p{Cc}\s]+/gu, ' ').trim()));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isFilled = (value: unknown): boolean =>
  typeof value === 'string' ? value !== '' : isObject(value) && Object.keys(value).length > 0;
