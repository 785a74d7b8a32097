import { hash } from 'node:crypto';
import type { z } from 'zod';
import { asList, isObject } from '../../source/answers/json.ts';
import { BadValue } from '../../source/answers/values.ts';
import type { BadRecord } from '../../warehouse/rows/quarantine.ts';
import type { ChildRow } from '../../warehouse/rows/write/child-rows.ts';
import type { Row } from '../../warehouse/rows/write/row.ts';
import { childShape, columnTypeOf, fieldAt, isFromFile, type Job, wholeRowOf } from '../job.ts';
import { jsonText, uncleanIn, wholeJson } from '../storable-text.ts';
import { compileRecord, type ReadRecord } from './compile-record.ts';
import { createMask } from './mask-fields.ts';

/** Stands in `_extra` beside the unknown fields: how many characters were removed or replaced, by field. */
const CLEANED = '(cleaned)';

export type Parsed = { readonly row: Row } | { readonly bad: BadRecord };

/**
 * `listed`: fields that other rows of the list carry. Where this row omits one, it is empty. The names of its unknown fields are added to
 * `unknown`, those of its items as `items.discount`.
 */
export type RecordParser = (
  raw: unknown,
  readAt: string,
  listed?: ReadonlySet<string>,
  unknown?: Set<string>,
) => Parsed;

/**
 * Turns rows of an answer into rows of the warehouse, or into records for quarantine. `contentKeyed`: a row without its key field gets `#` and
 * a hash of its declared values, without fields that a file adds to the list; the reading tells equals apart by an ordinal. What must not be
 * stored is dropped or hashed first. `volatile`: unknown fields that say nothing of whether a row has changed.
 */
export function createRecordParser(
  job: Job,
  options: { hashed: boolean; contentKeyed: boolean; volatile?: () => readonly string[] },
): RecordParser {
  const whole = wholeRowOf(job);
  const read = compileRecord(job);
  const known = new Set([...Object.keys(job.record.shape), ...job.never]);
  const children = Object.keys(job.children).map(field => ({
    field,
    prefix: `${field}.`,
    known: new Set(Object.keys(childShape(job, field))),
  }));
  const mask = createMask(job);
  // Changes whenever the record's fields do, so that rows stored under an older declaration are compared as different.
  const tolerated = new Set(job.tolerated);
  const added = isFromFile(job) ? NONE : tolerated;
  const version = [...known, ...job.tolerated.map(path => `${path} ${columnTypeOf(fieldAt(job, path) as object)}`)]
    .sort()
    .join();

  return (given, readAt, listed = NONE, unknown = new Set()) => {
    const raw = mask(given);
    if (!isObject(raw)) return { bad: badRecord(job, raw, { '(record)': 'expected an object' }) };
    const record = whole === undefined ? withLists(raw, children) : { [job.key]: raw[job.key], [whole]: raw };
    let fitting = read?.(record) ?? checkRecord(job, record);
    let unfit: ReadonlySet<string> = NONE;
    if ('reasons' in fitting && Object.keys(fitting.reasons).every(path => tolerated.has(fieldOf(path)))) {
      unfit = new Set(Object.keys(fitting.reasons));
      fitting = checkRecord(job, withoutFields(record, unfit));
    }
    if ('reasons' in fitting) return { bad: badRecord(job, raw, fitting.reasons) };
    const { values } = fitting;
    for (const path of unfit) if (!path.includes('.')) values[path] = null;
    const key = values[job.key] ?? (options.contentKeyed ? `#${digestOf(sorted(values, added))}` : null);
    if (key === null) return { bad: badRecord(job, raw, { [job.key]: 'a row needs it' }) };

    const lists: Record<string, ChildRow[]> = {};
    for (const field of listed) {
      if (field in record) continue;
      if (field in job.children) lists[field] = [];
      else values[field] = null;
    }
    let extra: string | null;
    try {
      for (const child of children) {
        const items = fitting.lists[child.field];
        if (items === undefined) continue;
        const rawItems = record[child.field] as Record<string, unknown>[] | null;
        lists[child.field] = (items ?? []).map((item, index) => {
          const kept = unfitOf(`${child.prefix}${index}.`, unfit);
          return {
            values: item,
            extra: extraOf(rawItems?.[index] ?? {}, child.known, item, { names: unknown, prefix: child.prefix, kept }),
          };
        });
      }
      extra = extraOf(record, known, values, { names: unknown, prefix: '', kept: unfit });
    } catch (error) {
      if (!(error instanceof BadValue)) throw error;
      return { bad: badRecord(job, raw, { '(unknown fields)': error.message }) };
    }
    const steady = options.hashed ? withoutVolatile(extra, options.volatile?.() ?? []) : null;
    const digest = options.hashed ? digestOf([version, values, lists, steady]) : null;
    return { row: { key, values, children: lists, extra, hash: digest, readAt } };
  };
}

const NONE: ReadonlySet<string> = new Set();

/** The record as zod reads it, or what is wrong with it. */
function checkRecord(
  { record: declared, children }: Job,
  record: unknown,
): ReadRecord | { reasons: Record<string, string> } {
  const parsed = declared.safeParse(record);
  if (!parsed.success) return { reasons: reasonsOf(parsed.error) };
  const entries = Object.entries(parsed.data).filter(([, value]) => value !== undefined);
  return {
    values: Object.fromEntries(entries.filter(([name]) => !(name in children))) as ReadRecord['values'],
    lists: Object.fromEntries(entries.filter(([name]) => name in children)) as ReadRecord['lists'],
  };
}

/** The record with its child lists as lists, where the source writes them as objects. */
function withLists(
  raw: Record<string, unknown>,
  children: readonly { readonly field: string }[],
): Record<string, unknown> {
  const objects = children.filter(({ field }) => isObject(raw[field]));
  if (objects.length === 0) return raw;
  return { ...raw, ...Object.fromEntries(objects.map(({ field }) => [field, asList(raw[field])])) };
}

/** The unknown fields without those that are volatile, as JSON; null where there are no others. */
function withoutVolatile(extra: string | null, volatile: readonly string[]): string | null {
  if (extra === null || volatile.length === 0) return extra;
  const fields = Object.entries(JSON.parse(extra) as object).filter(([name]) => !volatile.includes(name));
  return fields.length === 0 ? null : JSON.stringify(Object.fromEntries(fields));
}

const digestOf = (value: unknown): string => hash('sha256', JSON.stringify(value)).slice(0, 32);

const sorted = (values: Record<string, string | null>, without: ReadonlySet<string>) =>
  Object.keys(values)
    .filter(name => !without.has(name))
    .sort()
    .map(name => [name, values[name]]);

/** `lines.price` for `lines.0.price`. */
const fieldOf = (path: string): string => path.replace(/\.\d+\./, '.');

/** Those of `paths` that begin with `prefix`, as names of an item's fields. */
const unfitOf = (prefix: string, paths: ReadonlySet<string>): ReadonlySet<string> =>
  paths.size === 0
    ? NONE
    : new Set([...paths].filter(path => path.startsWith(prefix)).map(path => path.slice(prefix.length)));

/** A copy of the record without the fields at these paths, such as `project` and `lines.0.price`. */
function withoutFields(record: Record<string, unknown>, paths: ReadonlySet<string>): Record<string, unknown> {
  const copy = { ...record };
  for (const path of paths) {
    const [field = '', index, inner = ''] = path.split('.');
    if (index === undefined) {
      delete copy[field];
      continue;
    }
    const items = [...(copy[field] as Record<string, unknown>[])];
    const { [inner]: _, ...rest } = items[Number(index)] ?? {};
    items[Number(index)] = rest;
    copy[field] = items;
  }
  return copy;
}

/**
 * Unknown fields, and how much had to be cleaned of any: those of the record whose `values` were taken. `kept`: fields that are known, and
 * whose values did not fit.
 */
function extraOf(
  record: Record<string, unknown>,
  known: ReadonlySet<string>,
  values: Readonly<Record<string, string | null>>,
  unknown: { readonly names: Set<string>; readonly prefix: string; readonly kept: ReadonlySet<string> },
): string | null {
  const cleaned: [string, number][] = [];
  for (const name in values) {
    const raw = record[name];
    if (raw === values[name] || typeof raw === 'number') continue;
    const unclean = typeof raw === 'string' ? uncleanIn(raw) : isObject(raw) ? jsonText(raw).cleaned : 0;
    if (unclean > 0) cleaned.push([name, unclean]);
  }
  const names: string[] = [];
  for (const name in record) {
    if (known.has(name) && !unknown.kept.has(name)) continue;
    names.push(name);
    if (!known.has(name)) unknown.names.add(unknown.prefix + name);
  }
  if (names.length === 0 && cleaned.length === 0) return null;
  const kept = Object.fromEntries(names.map(name => [name, record[name]]));
  const json = jsonText(kept);
  if (json.cleaned > 0) cleaned.push(['(unknown fields)', json.cleaned]);
  if (cleaned.length === 0) return json.text;
  // A field of the source's own with that name is worth more than our count.
  return jsonText({ [CLEANED]: Object.fromEntries(cleaned), ...kept }).text;
}

function badRecord(job: Job, raw: unknown, reasons: Record<string, string>): BadRecord {
  const payload = wholeJson(raw);
  let key: string | null | undefined;
  try {
    const field = job.record.shape[job.key] as z.ZodType | undefined;
    const parsed = field?.safeParse((raw as Record<string, unknown> | null)?.[job.key]);
    key = parsed?.success ? (parsed.data as string | null | undefined) : null;
  } catch {
    key = null;
  }
  return { key: key ?? `?${idBeyond(raw, job) ?? hash('sha256', payload).slice(0, 32)}`, payload, reasons };
}

/** An id that is too large to be stored: it still tells whose record it is, whatever else changes in it. */
function idBeyond(raw: unknown, { key }: Job): string | null {
  const id = isObject(raw) ? raw[key] : null;
  return (typeof id === 'string' || typeof id === 'number') && /^\d{1,40}$/.test(String(id)) ? String(id) : null;
}

function reasonsOf(error: z.ZodError): Record<string, string> {
  return Object.fromEntries(error.issues.map(issue => [issue.path.join('.') || '(record)', issue.message]));
}
