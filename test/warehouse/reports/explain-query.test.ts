import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Database } from '../../../src/warehouse/database/database.ts';
import {
  type Condition,
  conditionsIn,
  explainQuery,
  type TableRead,
} from '../../../src/warehouse/reports/explain-query.ts';
import { withDatabase } from '../../support/database.ts';
import { everything } from '../../support/long.ts';

const asked = (query: string) => ({ query, schema: 'play', timeoutMs: 0, signal: new AbortController().signal });

test.each([
  ['(t.a = 17)', ['a = 17']],
  ["((t.a = '17'::bigint) AND (t.d >= (CURRENT_DATE - 7)))", ["a = '17' :: bigint", 'd >= ( CURRENT_DATE - 7 )']],
  ["(t.a = ANY ('{1,2}'::bigint[]))", ["a = any ( '{1,2}' :: bigint [ ] )"]],
  ['(t.constructor = 17)', ['constructor = 17']],
  ['((t.d)::timestamp with time zone > now())', ['d >= now ( )']],
  [`("T T"."a b" = 'it''s (x) AND (y)'::text)`, []],
  ['((t.a = 1) OR (t.a = 2))', []],
  ['(NOT (t.a = 1))', []],
  ['((t.a = 1) IS NOT TRUE)', []],
  ['(t.a = u.a)', []],
  ['(t.a = (InitPlan 1).col1)', []],
  ['(t.a = $0)', []],
  ['((t.a + 1) = 2)', []],
  ["((t.s)::date >= '2025-01-01'::date)", []],
  ['(t.d >= (random() - 3))', []],
  ['(t.a <> 1)', []],
  ['((t.a = 1) AND ((t.b = 2) OR (t.d = 3)))', ['a = 1']],
  ["(t.b = 'E'::text)", ["b = 'E' :: text"]],
] as const)('%s', (text, expected) => {
  const said = conditionsIn(text, 't').map(
    ({ column, is, value, isAny }) => `${column} ${is} ${isAny ? 'any ' : ''}${value}`,
  );
  expect(said).toEqual(expected);
});

test('the rows that a query reads of a table are those that its plan keeps, views resolved', async () => {
  await withPlay(async database => {
    for (const [query, reads] of [
      ['select * from t where a = 1', ['t: a = 1']],
      ['select count(*) from v where a = 1', ['t: a = 1']],
      ['select * from t join c on c.t = t.id where t.id = 5', ['t: id = 5', 'c: t = 5']],
      ['select * from t left join c on c.t = t.id where t.id in (5, 6)', ["t: id any '{5,6}'", 'c']],
      ['select (select max(n) from c where c.t = 7)', ['c: t = 7']],
      ["select * from t where d between '2025-01-01' and '2025-01-31'", ['t: d >= 2025-01-01, d <= 2025-01-31']],
      ['with x as (select * from t where a = 1) select * from x, x y', ['t: a = 1']],
      ['select * from t where a = 1 union all select * from t where a = 2', ['t: a = 1', 't: a = 2']],
      ['select 1', []],
    ] as const) {
      const plan = await explainQuery(database, asked(query));
      expect([query, plan?.readsUnseen, plan?.reads.map(textOf).sort()]).toEqual([query, false, [...reads].sort()]);
    }
    for (const query of [
      'select f(1)',
      'select "größe (f)"(1)',
      'select 1 operator(play.===) 1',
      'select * from warehouse.restatements',
      "select query_to_xml('select * from play.t', true, true, '')",
    ])
      expect([query, (await explainQuery(database, asked(query)))?.readsUnseen]).toEqual([query, true]);
    for (const query of ['show search_path', 'select * from nowhere', 'select 1; select 2', 'explain select 1'])
      expect([query, await explainQuery(database, asked(query))]).toEqual([query, null]);
  });
});

/** `t: a = 1, d >= 2025-01-01`, with constants as people write them. */
const textOf = ({ table, conditions }: TableRead): string => {
  const seen = new Set(
    conditions.map(({ column, is, value, isAny }) => `${column} ${isAny ? 'any' : is} ${plain(value)}`),
  );
  return seen.size === 0 ? table : `${table}: ${[...seen].join(', ')}`;
};
const plain = (value: string): string =>
  value
    .replaceAll(/ ?:: ?[a-z]+(?: \[ \])?/g, '')
    .replaceAll(/[()] ?/g, '')
    .trim()
    .replace(/^'(\d[\d-]*)'$/, '$1');

test('rows that do not meet the conditions of any reading of their table cannot change the answer', async () => {
  await withPlay(async database => {
    await fc.assert(
      fc.asyncProperty(query, fc.integer({ min: 0, max: 1 }), async (sql, fill) => {
        await database.query(FILL);
        const answer = await answerOf(database, sql);
        const plan = await explainQuery(database, asked(sql));
        if (plan === null) throw new Error(`no plan: ${sql}`);
        for (const table of ['t', 'c']) {
          const reads = plan.reads.filter(read => read.table === table);
          const kept = reads.map(({ conditions }) => ['true', ...conditions.map(conditionText)].join(' and '));
          const keep = kept.length === 0 ? 'false' : kept.map(text => `(${text})`).join(' or ');
          await database.query(`delete from play.${table} where (${keep}) is not true`);
          // Others come in their place.
          if (fill === 1) {
            await database.query(
              `insert into play.${table} select * from (${NEW[table as 'c' | 't']}) ${table} where (${keep}) is not true`,
            );
          }
        }
        expect(await answerOf(database, sql)).toEqual(answer);
      }),
      { numRuns: everything ? 300 : 60 },
    );
  });
});

const conditionText = ({ column, is, value, isAny }: Condition): string =>
  isAny ? `${column} = any (${value})` : `${column} ${is} ${value}`;

async function answerOf(database: Database, sql: string): Promise<string[]> {
  const { rows } = await database.query<{ row: string }>(`select q::text as row from (${sql}) q`);
  return rows.map(({ row }) => row).sort();
}

const TABLES = `create schema play;
  create table play.t (id bigint primary key, a bigint, b text, d date);
  create table play.c (t bigint, line int, n numeric, primary key (t, line));
  create index on play.t (a);
  create view play.v as select id, a, d from play.t where b is not null;
  create function play.f(n int) returns bigint language plpgsql stable as $$ begin return (select count(*) from play.t) + n; end $$;
  create function play."größe (f)"(n int) returns bigint language plpgsql stable as $$ begin return play.f(n); end $$;
  create function play.g(a int, b int) returns boolean language plpgsql stable as $$ begin return play.f(a) > b; end $$;
  create operator play.=== (leftarg = int, rightarg = int, function = play.g)`;
const ROWS = (offset: number) =>
  `select id, id % 5 as a, (array['x', 'y', null])[id % 3 + 1] as b, date '2025-01-01' + (id % 90)::int as d from generate_series(${offset}, ${offset + 59}) id`;
const CHILDREN = (offset: number) =>
  `select id as t, line::int, id * line as n from generate_series(${offset}, ${offset + 59}) id, generate_series(1, 2) line`;
const FILL = `truncate play.t, play.c; insert into play.t ${ROWS(1)}; insert into play.c ${CHILDREN(1)}`;
const NEW = { t: `select * from (${ROWS(1000)}) t`, c: `select * from (${CHILDREN(1000)}) c` };

const withPlay = (fn: (database: Database) => Promise<void>): Promise<void> =>
  withDatabase(async database => {
    await database.query(TABLES);
    await fn(database);
  });

const small = fc.integer({ min: 0, max: 62 });
const day = fc
  .integer({ min: 0, max: 95 })
  .map(days => new Date(Date.UTC(2025, 0, 1 + days)).toISOString().slice(0, 10));
/** A condition on the columns of `t`, whatever its alias. */
const conditionOn = (alias: string): fc.Arbitrary<string> =>
  fc.oneof(
    small.map(n => `${alias}.id = ${n}`),
    small.map(n => `${alias}.a = ${n % 6}`),
    fc.array(small, { minLength: 1, maxLength: 3 }).map(ns => `${alias}.id in (${ns.join()})`),
    fc.tuple(day, day).map(([from, to]) => `${alias}.d between '${from}' and '${to}'`),
    day.map(from => `${alias}.d > '${from}'::timestamptz`),
    day.map(to => `'${to}' >= ${alias}.d`),
    fc.constantFrom('x', 'y').map(b => `${alias}.b = '${b}'`),
    fc.tuple(small, small).map(([n, m]) => `(${alias}.id = ${n} or ${alias}.a = ${m % 6})`),
    small.map(n => `not (${alias}.id = ${n})`),
    small.map(n => `(${alias}.id = ${n}) is not true`),
    fc.constant(`${alias}.b is null`),
    small.map(n => `${alias}.id = (select max(t) from play.c where t < ${n})`),
    fc.constant(`${alias}.d > current_date - 30`),
  );
const both = fc.tuple(conditionOn('t'), conditionOn('t')).map(([a, b]) => `${a} and ${b}`);
const where = fc.oneof(conditionOn('t'), both);
const query = fc.oneof(
  where.map(w => `select t.* from play.t t where ${w}`),
  where.map(w => `select count(*), sum(n) from play.t t left join play.c c on c.t = t.id where ${w}`),
  fc
    .tuple(where, small)
    .map(
      ([w, n]) =>
        `select t.id, c.n from play.t t left join play.c c on c.t = t.id and c.line = 1 and c.t = ${n} where ${w}`,
    ),
  where.map(w => `select t.id, c.n from play.c c left join play.t t on c.t = t.id and ${w}`),
  where.map(w => `select t.id, c.n from play.t t full join play.c c on c.t = t.id and ${w}`),
  where.map(w => `select t.id from play.t t where ${w} and exists (select from play.c c where c.t = t.id)`),
  where.map(
    w => `select t.id from play.t t where ${w} and not exists (select from play.t u where u.id = t.a and u.d > t.d)`,
  ),
  where.map(
    w => `with x as (select * from play.t t where ${w}) select x.id, y.id as other from x join x y on x.a = y.a`,
  ),
  where.map(w => `select a, count(*) from play.t t where ${w} group by a having count(*) > 1`),
  conditionOn('t')
    .filter(w => !w.includes('t.b'))
    .map(w => `select max(t.id) from play.v t where ${w}`),
  fc
    .tuple(where, where)
    .map(([a, b]) => `select t.id from play.t t where ${a} union select t.a from play.t t where ${b}`),
  where.map(w => `select t.id, row_number() over (order by t.id) from play.t t where ${w}`),
  small.map(
    n => `select * from (select id, a, count(*) over (partition by a) as n from play.t) t where t.a = ${n % 6}`,
  ),
  fc
    .tuple(where, small)
    .map(
      ([w, n]) => `select * from (select t.id, t.a from play.t t where ${w} order by t.id limit 3) q where id = ${n}`,
    ),
);
