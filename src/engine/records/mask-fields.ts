import { numberText } from '../../source/answers/exact-json.ts';
import { readerOf } from '../../source/answers/field.ts';
import { asList, isObject } from '../../source/answers/json.ts';
import { BadValue } from '../../source/answers/values.ts';
import { childShape, fieldAt, type Job, type Mask } from '../job.ts';
import { createSecretFilter } from './drop-secrets.ts';

/** A field whose hash is stored. */
interface Hashed {
  readonly outer: string;
  /** Of the items of `outer`; undefined for a field of the record itself. */
  readonly inner: string | undefined;
  readonly hash: (value: unknown) => unknown;
}

/**
 * A record, or a stored row as JSON, without secrets and without what the job never stores, and with hashes for what it hashes; the same value
 * where nothing changes.
 */
export function createMask(job: Job): (record: unknown) => unknown {
  const masks = Object.entries(job.masks);
  const dropped = new Set(masks.flatMap(([path, { rule }]) => (rule === 'never' ? [path] : [])));
  const kept = (names: readonly string[], prefix = '') => new Set(names.filter(name => !dropped.has(prefix + name)));
  // Where it has no column, what is hashed is dropped, too.
  const names = masks.map(([path]) => path.split('.').at(-1) ?? path);
  const drop = createSecretFilter([...job.never, ...names], {
    own: kept(Object.keys(job.record.shape)),
    items: new Map(
      Object.keys(job.children).map(field => [field, kept(Object.keys(childShape(job, field)), `${field}.`)]),
    ),
  });
  const hashed = masks.flatMap(([path, mask]): Hashed[] => {
    if (mask.rule === 'never') return [];
    const [outer = '', inner] = path.split('.');
    return [{ outer, inner, hash: value => hashOf(value, fieldAt(job, path), mask) }];
  });
  if (hashed.length === 0) return drop;
  return given => {
    const record = drop(given);
    return eachIn(record, each => withHashes(each, hashed));
  };
}

/** The value with `change` applied to it, if it is an object, or to all objects of the list that it is; the same value where nothing changes. */
function eachIn(value: unknown, change: (record: Readonly<Record<string, unknown>>) => unknown): unknown {
  const items = asList(value);
  if (!Array.isArray(items)) return isObject(items) ? change(items) : value;
  const changed = items.map(item => eachIn(item, change));
  return changed.every((item, index) => item === items[index]) ? value : changed;
}

function withHashes(
  record: Readonly<Record<string, unknown>>,
  hashed: readonly Hashed[],
): Readonly<Record<string, unknown>> {
  let copy = record;
  for (const { outer, inner, hash } of hashed) {
    if (!(outer in copy)) continue;
    const before = copy[outer];
    const after = inner === undefined ? hash(before) : eachIn(before, item => withHash(item, inner, hash));
    if (after !== before) copy = { ...copy, [outer]: after };
  }
  return copy;
}

function withHash(
  item: Readonly<Record<string, unknown>>,
  field: string,
  hash: Hashed['hash'],
): Readonly<Record<string, unknown>> {
  const after = hash(item[field]);
  return after === item[field] ? item : { ...item, [field]: after };
}

/** Of the text that would be stored. Nothing to hash stays as it is; what the column could not hold is hashed, too. */
function hashOf(value: unknown, schema: object | undefined, { hash }: Extract<Mask, { rule: 'hash' }>): unknown {
  if (value === null || value === undefined) return value;
  let text: string | null;
  try {
    text = (schema && readerOf(schema)?.(numberText(value) ?? value)) ?? null;
  } catch (error) {
    if (!(error instanceof BadValue)) throw error;
    text = JSON.stringify(value);
  }
  return text === null || text === '' ? text : hash(text);
}
