import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { didYouMean } from '../nearest-name.ts';
import { readSettingsFile, wrongSettings } from './environment.ts';
import { isCron, isRecord, plainText } from './resource-settings.ts';

/*
 * A file `lists/<name>.json` beside `.env`: a list of the source that Sluice does not know, or more fields of one that it knows. It says what
 * a file of `jobs/` says, without code.
 */

/** The types of fields. `row`: the row itself, whole. */
export const FIELD_TYPES = ['text', 'integer', 'decimal', 'date', 'timestamp', 'row'] as const;
export type FieldType = (typeof FIELD_TYPES)[number];

export interface DeclaredField {
  readonly type: FieldType;
  readonly description: string;
}

type FieldsByName = Readonly<Record<string, DeclaredField>>;

/** What a file says of a list that Sluice does not know. */
export type OwnList = Omit<z.infer<typeof OWN_LIST>, '$schema'>;

/** The fields that it adds to a list that Sluice knows: of its rows, and of the lists inside them. */
export interface MoreFields {
  readonly fields: FieldsByName;
  readonly children: Readonly<Record<string, { readonly fields: FieldsByName }>>;
}

/** `file`: `lists/contracts.json`. */
export type ListFile = { readonly name: string; readonly file: string } & (
  | { readonly declares: 'list'; readonly list: OwnList }
  | { readonly declares: 'fields'; readonly more: MoreFields }
);

export const LISTS_FOLDER = 'lists';

/** The name of a list, and of a table: short enough for `<name>_history`. */
const LIST_NAME = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/;
export const isListName = (name: string): boolean => LIST_NAME.test(name) && name.length <= 40;
/** Columns of the history view, those that every table of Postgres has, and what every object of JavaScript has. */
const TAKEN = ['valid_from', 'valid_to', 'ended_by', 'ctid', 'xmin', 'xmax', 'cmin', 'cmax', 'tableoid', 'constructor'];
/** A column that a field can have. Sluice's own begin with `_`. */
export const isFieldName = (name: string): boolean => /^[a-z][a-z0-9_]{0,62}$/.test(name) && !TAKEN.includes(name);

/** A text that must pass `accepts`; `expected` completes "expected ...". */
const textOf = (expected: string, accepts: (text: string) => boolean) =>
  z.string(`expected ${expected}`).refine(accepts, `expected ${expected}`);
/** Below the address of the source: none that leads elsewhere. */
export const isPath = (text: string): boolean => /^\/(?!\/)[\w/.~-]+$/.test(text) && !/\/\.{1,2}(?:\/|$)/.test(text);
const NAME = textOf('at most 40 of a-z, 0-9 and _, such as contract_lines', isListName);
const FIELD_NAME = textOf(
  `a name of a-z, 0-9 and _ that begins with a letter, none of ${TAKEN.join(', ')}`,
  isFieldName,
);
const TEXT = z.string('expected a text');
const WORDS = z.array(TEXT, 'expected a list of texts');
const FLAG = z.boolean('expected true or false');
const TYPE = z.enum(FIELD_TYPES);
const TYPE_NAMES = FIELD_TYPES.join(', ');

const FIELD = z
  .union(
    [TYPE, z.strictObject({ type: TYPE, description: TEXT.default('') })],
    `expected a type (${TYPE_NAMES}), or an object with a type and a description`,
  )
  .transform((given): DeclaredField => (typeof given === 'string' ? { type: given, description: '' } : given));
const FIELDS = z.record(FIELD_NAME, FIELD, 'expected an object from field to type');

const PATH = textOf('a path such as /api/v2/contracts', isPath);
const SLICING = z.discriminatedUnion(
  'by',
  [
    z.strictObject({ by: z.literal('id') }),
    z.strictObject({ by: z.literal('date'), field: TEXT, from: TEXT, to: TEXT }),
    z.strictObject({ by: z.literal('value'), field: TEXT, watch: WORDS.default([]) }),
    z.strictObject({
      by: z.literal('one'),
      path: textOf(
        'a path such as /api/v2/contracts/{key}',
        text => text.endsWith('/{key}') && isPath(text.slice(0, -'{key}'.length)),
      ),
    }),
  ],
  'expected an object such as {"by": "id"}; by is one of id, date, value, one',
);

const OWN_LIST = z.strictObject({
  $schema: TEXT.optional(),
  path: PATH,
  description: TEXT.default(''),
  schedule: textOf('a cron expression of five fields such as */15 * * * *', isCron).default('*/15 * * * *'),
  key: TEXT.default('id'),
  withoutKey: z.enum(['content', 'quarantine'], 'expected content or quarantine').default('content'),
  fields: FIELDS,
  children: z
    .record(
      FIELD_NAME,
      z.strictObject({ table: NAME, parent: FIELD_NAME, description: TEXT.default(''), fields: FIELDS }),
      'expected an object from field to the list inside it',
    )
    .default({}),
  slicings: z.array(SLICING, 'expected a list such as [{"by": "id"}]').default([{ by: 'id' }]),
  updatedAt: TEXT.nullable().default(null),
  never: WORDS.default([]),
  events: z.record(TEXT, WORDS, 'expected an object from event to fields').default({}),
  history: FLAG.default(false),
  rewriteShares: z
    .record(
      TEXT,
      z.number('expected a share such as 0.5').gt(0, 'expected a share above 0').max(1, 'expected at most 1'),
    )
    .default({}),
});

const MORE_FIELDS = z.strictObject({
  $schema: TEXT.optional(),
  fields: FIELDS.default({}),
  children: z.record(FIELD_NAME, z.strictObject({ fields: FIELDS })).default({}),
});

/** For editors: what both kinds of files may hold. */
export const listFileSchema = () =>
  z.toJSONSchema(z.union([OWN_LIST, MORE_FIELDS]), { io: 'input', unrepresentable: 'any' });

/**
 * Reads the folder `lists` in `directory`. `known`: the lists that Sluice knows, for which a file may only add fields. Throws the kind
 * `configuration` with everything that is wrong in any of them.
 */
export function readListFiles(directory: string, known: (name: string) => boolean): ListFile[] {
  const problems: string[] = [];
  const files = namesIn(join(directory, LISTS_FOLDER), problems).flatMap(entry => {
    const file = `${LISTS_FOLDER}/${entry}`;
    const name = entry.replace(/\.json$/, '');
    const report = reportTo(problems, file);
    if (!isListName(name)) {
      report('is not named after a list; expected at most 40 of a-z, 0-9 and _, such as lists/contracts.json');
      return [];
    }
    const read = readContent(join(directory, file), report);
    if (read === undefined) return [];
    return parseFile({ name, file }, read.content, { isKnown: known(name), report }) ?? [];
  });
  if (problems.length > 0) throw wrongSettings(problems);
  return files;
}

/** One of these files; null if it is absent. Throws the kind `configuration` if it cannot be used. */
export function readListFile(path: string): Read | null {
  if (!existsSync(path)) return null;
  const problems: string[] = [];
  const read = readContent(path, reportTo(problems, path));
  if (read === undefined) throw wrongSettings(problems);
  return read;
}

function namesIn(folder: string, problems: string[]): string[] {
  try {
    return readdirSync(folder)
      .filter(entry => entry.endsWith('.json') && !entry.startsWith('.'))
      .sort();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') problems.push(`${LISTS_FOLDER} cannot be read (${code}).`);
    return [];
  }
}

/** What a file holds: its text, without a byte order mark, and the object that it stands for. */
interface Read {
  readonly text: string;
  readonly content: Record<string, unknown>;
}

/** Keeps a problem of the file. */
type Report = (problem: string) => undefined;

const reportTo =
  (problems: string[], file: string): Report =>
  problem => {
    problems.push(`${file} ${problem}.`);
    return undefined;
  };

function readContent(path: string, report: Report): Read | undefined {
  const { text, refused, code } = readSettingsFile(path);
  if (refused !== null) return report(`is not used: ${refused}`);
  if (code !== null) return report(`cannot be read (${code})`);
  try {
    const content: unknown = JSON.parse(text);
    if (isRecord(content)) return { text, content };
  } catch (error) {
    return report(`is not valid JSON: ${(error as Error).message}`);
  }
  return report('is not an object; expected one such as {"path": "/api/v2/contracts", "fields": {..}}');
}

function parseFile(
  { name, file }: { readonly name: string; readonly file: string },
  content: Record<string, unknown>,
  { isKnown, report }: { readonly isKnown: boolean; readonly report: Report },
): ListFile | undefined {
  const reportIssues = (schema: z.ZodObject, issues: readonly z.core.$ZodIssue[]) => {
    for (const issue of issues) report(describeIssue(issue, content, Object.keys(schema.shape)));
  };
  if (isKnown) {
    const { data, error } = MORE_FIELDS.safeParse(content);
    if (data) return { name, file, declares: 'fields', more: data };
    reportIssues(MORE_FIELDS, error.issues);
    if ('path' in content) report(`declares ${name}, which Sluice knows: it may only add fields to it`);
    return undefined;
  }
  const { data, error } = OWN_LIST.safeParse(content);
  if (!data) {
    reportIssues(OWN_LIST, error.issues);
    return undefined;
  }
  const contradictions = findContradictions(name, data);
  contradictions.forEach(report);
  const { $schema: _, ...list } = data;
  return contradictions.length === 0 ? { name, file, declares: 'list', list } : undefined;
}

/** `has fields.amount money; expected a type (text, ...)`. */
function describeIssue(issue: z.core.$ZodIssue, content: unknown, known: readonly string[]): string {
  const at = issue.path.join('.');
  if (issue.code === 'unrecognized_keys') {
    const [key = ''] = issue.keys;
    return `has an unknown field "${[...issue.path, key].join('.')}"${didYouMean(key, known)}`;
  }
  if (issue.code === 'invalid_key') return `names "${at}"; ${issue.issues[0]?.message ?? 'expected another name'}`;
  const value = issue.path.reduce<unknown>(
    (inner, step) => (isRecord(inner) || Array.isArray(inner) ? inner[step as never] : undefined),
    content,
  );
  return value === undefined
    ? `lacks ${at}; ${issue.message}`
    : `has ${at} ${plainText(value).slice(0, MOST_SHOWN)}; ${issue.message}`;
}

const MOST_SHOWN = 60;

/** What no single field of the file shows. */
function findContradictions(name: string, list: OwnList): string[] {
  const { fields, children, key, slicings, updatedAt, never, rewriteShares } = list;
  const problems: string[] = [];
  const expectField = (what: string, field: string, types: readonly FieldType[]) => {
    const found = Object.hasOwn(fields, field) ? fields[field] : undefined;
    if (found === undefined)
      problems.push(`names the unknown field "${field}" in ${what}${didYouMean(field, Object.keys(fields))}`);
    else if (!types.includes(found.type))
      problems.push(`names "${field}" in ${what}, which is of type ${found.type}; expected ${types.join(' or ')}`);
  };
  const needsNumbers = slicings.some(({ by }) => by === 'id' || by === 'date');
  expectField('key', key, needsNumbers ? ['integer'] : ['integer', 'text']);
  if (updatedAt !== null) expectField('updatedAt', updatedAt, ['timestamp']);
  for (const slicing of slicings) {
    if (slicing.by === 'date') expectField('slicings', slicing.field, ['date']);
    if (slicing.by === 'value') expectField('slicings', slicing.field, ['text', 'integer']);
    if (slicing.by === 'date' && slicing.from === slicing.to)
      problems.push('has a slicing whose from and to are equal');
  }
  const kinds = slicings.map(({ by }) => by).filter(by => by !== 'value');
  if (new Set(kinds).size < kinds.length)
    problems.push('has two slicings of the same kind; expected one of each but value');
  for (const field of never)
    if (Object.hasOwn(fields, field)) problems.push(`declares "${field}" and names it in never; expected one of them`);
  for (const field of Object.keys(rewriteShares))
    if (!(Object.hasOwn(fields, field) || Object.hasOwn(children, field)))
      problems.push(`names the unknown field "${field}" in rewriteShares`);
  const beside = Object.keys(fields).filter(field => field !== key);
  if (beside.some(field => fields[field]?.type === 'row') && beside.length + Object.keys(children).length > 1)
    problems.push('has a field of type row beside others; with it, a row has no other field than its key');
  for (const [field, child] of Object.entries(children)) {
    if (Object.hasOwn(fields, field)) problems.push(`declares "${field}" both as a field and as a list`);
    if (child.parent === 'line')
      problems.push(`names the parent "line" for "${field}", which is a column of Sluice's own there`);
    if (child.table === name) problems.push(`names its own table for "${field}"`);
    for (const own of [child.parent, 'line'])
      if (Object.hasOwn(child.fields, own))
        problems.push(`declares "${own}" for "${field}", which is a column of Sluice's own there`);
    if (Object.values(child.fields).some(({ type }) => type === 'row'))
      problems.push(`has a field of type row in "${field}"; only the list itself may have one`);
  }
  return problems;
}
