import { isKind } from '../../errors.ts';
import type { Database } from '../database/database.ts';
import { readQuery, type TextRow } from './read-query.ts';

/** A condition that Postgres applies while it reads a table, before anything else sees the row. */
export interface Condition {
  readonly column: string;
  readonly is: '=' | '>=' | '<=';
  /** The SQL of a value that is the same for every row; an array of values where `isAny`. */
  readonly value: string;
  readonly isAny: boolean;
}

/** A table that a query reads. Rows that do not meet all of the conditions cannot change its answer. */
export interface TableRead {
  readonly schema: string;
  readonly table: string;
  readonly conditions: readonly Condition[];
}

export interface QueryPlan {
  readonly reads: readonly TableRead[];
  /** The query calls a function that may read any table. */
  readonly readsUnseen: boolean;
}

type Asked = Omit<Parameters<typeof readQuery>[1], 'query'> & { readonly query: string };

/** A plan shows the constants that Postgres has computed, such as a text of 100 MB. */
const MOST_BYTES = 2 ** 20;

/**
 * The tables that a query reads, views resolved, as Postgres plans it: nothing is read. Null for what has no plan, such as SHOW, and for what Postgres
 * refuses: running it says why. Throws kind `stopped` when the signal came.
 */
export async function explainQuery(database: Database, asked: Asked): Promise<QueryPlan | null> {
  let text: string;
  try {
    const query = `explain (verbose, format json) ${asked.query}`;
    text = (await allRows(database, { ...asked, query, mostBytes: MOST_BYTES })).map(([part]) => part).join('');
  } catch (error) {
    if (isKind(error, 'failed')) return null;
    throw error;
  }
  const plans = JSON.parse(text) as readonly { Plan: Node }[];
  const nodes = plans.flatMap(({ Plan }) => [...below(Plan)]);
  const called = new Set(nodes.flatMap(callsIn));
  return { reads: nodes.flatMap(readOf), readsUnseen: await readsTables(database, asked, [...called]) };
}

interface Node {
  readonly Plans?: readonly Node[];
  readonly Schema?: string;
  readonly Alias?: string;
  readonly 'Function Name'?: string;
  readonly 'Relation Name'?: string;
  readonly Filter?: string;
  readonly 'Index Cond'?: string;
  readonly 'Recheck Cond'?: string;
}

function* below(node: Node): Generator<Node> {
  yield node;
  for (const each of node.Plans ?? []) yield* below(each);
}

function readOf(node: Node): TableRead[] {
  const { Schema: schema, 'Relation Name': table, Alias: alias = table } = node;
  if (schema === undefined || table === undefined || alias === undefined) return [];
  const texts = [node.Filter, node['Index Cond'], node['Recheck Cond']];
  return [{ schema, table, conditions: texts.flatMap(text => (text ? conditionsIn(text, alias) : [])) }];
}

/** What Postgres writes is fully parenthesised: `((t.a = 17) AND (t.b >= (CURRENT_DATE - 7)))`. */
const TOKEN = /\s*('(?:[^']|'')*'|"(?:[^"]|"")*"|[\w$]+|::|[<>=!]+|.)/gsu;

/** Conditions on columns of `alias` that this text joins by AND. Others are left out, which only makes more rows count. */
export function conditionsIn(text: string, alias: string): Condition[] {
  const tokens = [...text.matchAll(TOKEN)].map(([, token = '']) => token);
  return conjuncts(tokens).flatMap(each => conditionOf(each, alias) ?? []);
}

/** The parts between top-level ANDs, each without the parentheses around it. */
function conjuncts(given: readonly string[]): string[][] {
  const tokens = unwrapped(given);
  const parts: string[][] = [[]];
  let depth = 0;
  for (const token of tokens) {
    depth += token === '(' ? 1 : token === ')' ? -1 : 0;
    if (token === 'AND' && depth === 0) parts.push([]);
    else parts.at(-1)?.push(token);
  }
  return parts.length === 1 ? [tokens] : parts.flatMap(conjuncts);
}

/** Without the parentheses that enclose all of it. */
function unwrapped(tokens: readonly string[]): string[] {
  if (tokens[0] !== '(' || tokens.at(-1) !== ')') return [...tokens];
  let depth = 0;
  for (const [place, token] of tokens.entries()) {
    depth += token === '(' ? 1 : token === ')' ? -1 : 0;
    if (depth === 0) return place === tokens.length - 1 ? unwrapped(tokens.slice(1, -1)) : [...tokens];
  }
  return [...tokens];
}

const OPERATORS: Readonly<Record<string, Condition['is']>> = { '=': '=', '>=': '>=', '>': '>=', '<=': '<=', '<': '<=' };

/** `t.column <operator> <value>`, the column perhaps cast to a moment: `(t.date)::timestamp with time zone`. */
function conditionOf(tokens: readonly string[], alias: string): Condition | null {
  const at = tokens.findIndex(token => Object.hasOwn(OPERATORS, token));
  const is = OPERATORS[tokens[at] ?? ''];
  const column = columnOf(tokens.slice(0, at), alias);
  if (is === undefined || column === null) return null;
  const rest = tokens.slice(at + 1);
  const isAny = rest[0] === 'ANY' && tokens[at] === '=';
  const value = isAny ? rest.slice(1) : rest;
  return value.length > 0 && value.every(isConstant) ? { column, is, value: value.join(' '), isAny } : null;
}

const AS_MOMENT = /^:: timestamp(?: with(?:out)? time zone)?$/;

function columnOf(tokens: readonly string[], alias: string): string | null {
  const isCast = tokens[0] === '(' && tokens[4] === ')' && AS_MOMENT.test(tokens.slice(5).join(' '));
  const [table, dot, column, ...more] = isCast ? tokens.slice(1, 4) : tokens;
  if (table === undefined || column === undefined || dot !== '.' || more.length > 0) return null;
  return unquoted(table) === alias ? unquoted(column) : null;
}

const unquoted = (name: string): string => (name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name);

/** Of what a value may consist: constants, types, and functions of the moment alone. A name of a column has an alias before it. */
const WORDS = new Set(
  `CURRENT_DATE CURRENT_TIMESTAMP LOCALTIMESTAMP AT TIME ZONE now date_trunc make_date date timezone to_date
  date interval timestamp timestamptz with without time zone text character varying bigint integer smallint numeric`.split(
    /\s+/,
  ),
);
const isConstant = (token: string): boolean => /^(?:'.*'|\d+|::|[()[\],+-])$/s.test(token) || WORDS.has(token);

const CALL = /("(?:[^"]|"")+"|[\p{L}\w$]+)\(/gu;
/** Extensions whose functions in C read no table. Those of others may run a query given as text, as `crosstab` does. */
const HARMLESS =
  `btree_gin btree_gist citext cube earthdistance fuzzystrmatch hstore intarray isn ltree pg_trgm pgcrypto postgis seg
  unaccent uuid-ossp vector`.split(/\s+/);

const OPERATOR = /[-+*/<>=~!@#%^&|`?]+/g;

/** The names of the functions that a node calls, and of its operators, wherever its texts show one. */
function callsIn(node: Node): string[] {
  const own = { ...node, Plans: [] };
  const texts = Object.values(own)
    .flat()
    .filter(value => typeof value === 'string');
  const { 'Function Name': name } = node;
  const called = texts.flatMap(text => [
    ...[...text.matchAll(CALL)].map(([, called = '']) => unquoted(called)),
    ...(text.match(OPERATOR) ?? []),
  ]);
  return name === undefined ? called : [...called, name];
}

/** Postgres resolves functions in SQL that it can; others, and those that run a query given as text, may read what no plan shows. */
async function readsTables(database: Database, asked: Asked, names: readonly string[]): Promise<boolean> {
  if (names.length === 0) return false;
  const named = `(${names.map(name => `'${name.replaceAll("'", "''")}'`).join()})`;
  const query = `select from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
    where (p.proname in ${named} or p.oid in (select oprcode from pg_operator where oprname in ${named})) and case n.nspname when 'pg_catalog' then p.proname ~ '_to_xml|^ts_(stat|rewrite)$'
    else not (n.nspname = 'sluice' and p.proname in ('now', 'complete', 'is_same', 'plain_row')) and not (l.lanname = 'c' and exists (select from pg_depend d join pg_extension e on e.oid = d.refobjid
      where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e' and e.extname in (${HARMLESS.map(name => `'${name}'`).join()}))) end limit 1`;
  return (await allRows(database, { ...asked, query })).length > 0;
}

/** What constant expressions come to, as texts; null for NULL. Their session is that of the query. */
export async function evaluate(database: Database, asked: Asked, expressions: readonly string[]) {
  if (expressions.length === 0) return [];
  const [values = []] = await allRows(database, { ...asked, query: `select ${expressions.join()}` });
  return values;
}

async function allRows(database: Database, asked: Parameters<typeof readQuery>[1]): Promise<TextRow[]> {
  const all: TextRow[] = [];
  await readQuery(database, asked, async (_, rows) => {
    all.push(...rows);
    return true;
  });
  return all;
}
