import { readdirSync } from 'node:fs';
import { validate } from 'node-cron';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { childShape, type Job, wholeRowOf } from '../src/engine/job.ts';
import { declareTable } from '../src/engine/records/declare-table.ts';
import { createRecordParser } from '../src/engine/records/parse-record.ts';
import type { Database } from '../src/warehouse/database/database.ts';
import { tableIn } from '../src/warehouse/rows/tables.ts';
import { writeRows } from '../src/warehouse/rows/write/write-rows.ts';
import { createTestDatabase, MIGRATIONS, type TestDatabase } from './support/database.ts';

const folder = new URL('../jobs/', import.meta.url);
const jobs = await Promise.all(
  readdirSync(folder)
    .filter(file => file.endsWith('.ts'))
    .map(async file => ({
      name: file.slice(0, -3),
      job: ((await import(new URL(file, folder).href)) as { default: Job }).default,
    })),
);

type Kind = 'text' | 'integer' | 'decimal' | 'date' | 'timestamp' | 'row';

/** The column types that hold everything a field accepts. */
const FITTING: Record<Kind, readonly string[]> = {
  text: ['text'],
  integer: ['bigint', 'integer'],
  decimal: ['numeric'],
  date: ['date'],
  timestamp: ['timestamp with time zone'],
  row: ['jsonb'],
};

/** A value of each kind that a careless column type would not hold exactly. */
const PROBES: Record<Exclude<Kind, 'row'>, { given: string; stored: string }> = {
  text: { given: 'Zoë “Ωmega” 🧾\n', stored: 'Zoë “Ωmega” 🧾\n' },
  integer: { given: '2147483647', stored: '2147483647' },
  decimal: { given: '12345678901234567890.123456789', stored: '12345678901234567890.123456789' },
  date: { given: '2024-02-29', stored: '2024-02-29' },
  timestamp: { given: '2026-01-15T10:00:00.123456+02:00', stored: '2026-01-15 08:00:00.123456+00' },
};

/** The kind of a field, found by trying what it accepts. */
function kindOf(field: unknown): Kind {
  const accepts = (value: unknown) => z.object({ value: field as z.ZodType }).safeParse({ value });
  if (accepts({ any: 'thing' }).success) return 'row';
  if (accepts('x').success) return 'text';
  if (accepts('7.5').success) return 'decimal';
  if (accepts('7').success) return 'integer';
  const stamp = accepts('2026-01-15T10:00:00Z');
  if (!stamp.success) throw new Error('a field that is none of text, integer, decimal, date, timestamp');
  return stamp.data.value === '2026-01-15' ? 'date' : 'timestamp';
}

function probeOf(schema: unknown) {
  const kind = kindOf(schema);
  if (kind === 'row') throw new Error('a whole row holds the others');
  return PROBES[kind];
}

interface StoredColumn {
  name: string;
  type: string;
  nullable: boolean;
}

let own: TestDatabase;
let database: Database;
beforeAll(async () => {
  own = await createTestDatabase();
  database = await own.open();
});
afterAll(async () => {
  await database?.close();
  await own?.drop();
});

async function columnsOf(table: string): Promise<StoredColumn[]> {
  const { rows } = await database.query<StoredColumn & Record<string, unknown>>(
    `select attname as name, format_type(atttypid, atttypmod) as type, not attnotnull as nullable from pg_attribute
     where attrelid = to_regclass($1) and attnum > 0 and not attisdropped order by attnum`,
    [`${MIGRATIONS.schema}.${table}`],
  );
  return rows;
}

/** The columns of each index, in order. */
async function indexesOf(table: string): Promise<{ unique: boolean; columns: string[] }[]> {
  const { rows } = await database.query<{ unique: boolean; columns: string[] }>(
    `select i.indisunique and i.indpred is null as unique, array(select a.attname::text from unnest(i.indkey) with ordinality k(number, at)
       join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number order by k.at) as columns
     from pg_index i where i.indrelid = to_regclass($1)`,
    [`${MIGRATIONS.schema}.${table}`],
  );
  return rows;
}

const isIndexed = async (table: string, column: string) =>
  (await indexesOf(table)).some(index => index.columns[0] === column);

test('there are jobs', () => {
  expect(jobs.length).toBeGreaterThanOrEqual(3);
});

describe.each(jobs)('$name', ({ name, job }) => {
  const fields = () => Object.entries(job.record.shape).filter(([field]) => !(field in job.children));

  test('its default export is a job', () => {
    expect(job.record).toBeInstanceOf(z.ZodObject);
    expect(Object.keys(job).sort()).toEqual(
      [
        'children',
        'control',
        'description',
        'events',
        'history',
        'rewriteShares',
        'key',
        'listFile',
        'masks',
        'never',
        'path',
        'record',
        'schedule',
        'slicings',
        'tolerated',
        'updatedAt',
        'withoutKey',
      ].sort(),
    );
    expect(job.path).toMatch(/^\/[\w/-]+$/);
    expect(job.record.shape).toHaveProperty(job.key);
  });

  test('says what a row and each of its fields is', () => {
    expect(job.description).toMatch(/^[A-Z].*\.$/);
    for (const [field, schema] of fields()) expect((schema as z.ZodType).description, field).toMatch(/\.$/);
  });

  test('the field that tells when a row was changed, if there is one, is a timestamp', () => {
    if (job.updatedAt !== null) expect(kindOf(job.record.shape[job.updatedAt])).toBe('timestamp');
  });

  test('its name is a table name in snake case', () => {
    expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/);
  });

  test('history is its only on/off flag', () => {
    const flags = Object.entries(job).filter(([, value]) => typeof value === 'boolean');
    expect(flags.map(([flag]) => flag)).toEqual(['history']);
    for (const slicing of job.slicings)
      expect(Object.values(slicing).filter(value => typeof value === 'boolean')).toEqual([]);
  });

  test('its schedule is a cron expression of five fields', () => {
    expect(job.schedule.trim().split(/\s+/)).toHaveLength(5);
    expect(validate(job.schedule)).toBe(true);
  });

  test('every field has a column whose type holds its values exactly, and every column has a field', async () => {
    const columns = (await columnsOf(name)).filter(column => !column.name.startsWith('_'));
    expect(columns.map(column => column.name).sort()).toEqual(
      fields()
        .map(([field]) => field)
        .sort(),
    );
    for (const [field, schema] of fields()) {
      const column = columns.find(each => each.name === field);
      expect(FITTING[kindOf(schema)], `${field} ${column?.type}`).toContain(column?.type);
      // A source may leave any field out.
      if (field !== job.key) expect(column?.nullable, `${field} may be null`).toBe(true);
    }
  });

  test('its key is unique', async () => {
    const columns = (await columnsOf(name)).map(column => column.name);
    const key = columns.includes('_key') ? '_key' : job.key;
    const unique = (await indexesOf(name)).filter(index => index.unique).map(index => index.columns);
    expect(unique).toContainEqual([key]);
    expect(await isIndexed(name, job.key)).toBe(true);
  });

  test('its table has the columns that every table has', async () => {
    const columns = await columnsOf(name);
    // A column that a job adds later stands behind them.
    expect(columns.filter(column => ['_extra', '_synced_at', '_read_at'].includes(column.name))).toEqual([
      { name: '_extra', type: 'jsonb', nullable: true },
      { name: '_synced_at', type: 'timestamp with time zone', nullable: false },
      { name: '_read_at', type: 'timestamp with time zone', nullable: false },
    ]);
    expect(await isIndexed(name, '_synced_at')).toBe(true);
    const hash = columns.find(column => column.name === '_hash');
    expect(hash?.type).toBe(Object.keys(job.children).length > 0 ? 'bytea' : undefined);
    const others = columns.map(column => column.name).filter(column => column.startsWith('_'));
    expect(['_key', '_hash', '_extra', '_synced_at', '_read_at']).toEqual(expect.arrayContaining(others));
  });

  test('its child rows have their own tables, keyed by parent and line', async () => {
    const parentKey = (await columnsOf(name)).find(column => column.name === '_key') ?? {
      type: (await columnsOf(name)).find(column => column.name === job.key)?.type,
    };
    for (const [field, child] of Object.entries(job.children)) {
      const shape = Object.entries(childShape(job, field));
      const columns = await columnsOf(child.table);
      expect(columns.map(column => column.name).sort()).toEqual(
        [child.parent, 'line', ...shape.map(([each]) => each), '_extra'].sort(),
      );
      expect(columns[0]?.type).toBe(parentKey.type);
      expect(columns[1]?.type).toBe('integer');
      expect(columns.find(column => column.name === '_extra')?.type).toBe('jsonb');
      for (const [each, schema] of shape)
        expect(FITTING[kindOf(schema)]).toContain(columns.find(column => column.name === each)?.type);
      expect((await indexesOf(child.table)).filter(index => index.unique).map(index => index.columns)).toEqual([
        [child.parent, 'line'],
      ]);
    }
  });

  test('its slicings use fields that exist and are indexed', async () => {
    for (const slicing of job.slicings) {
      if (slicing.by === 'one') expect(slicing.path).toMatch(/^\/[\w/-]+\/\{key\}$/);
      if (slicing.by === 'id') expect(await isIndexed(name, job.key)).toBe(true);
      if (slicing.by !== 'date' && slicing.by !== 'value') continue;
      expect(job.record.shape).toHaveProperty(slicing.field);
      expect(await isIndexed(name, slicing.field), `an index on ${slicing.field}`).toBe(true);
      if (slicing.by !== 'date') continue;
      expect(kindOf(job.record.shape[slicing.field])).toBe('date');
      expect(slicing.from).not.toBe(slicing.to);
    }
    const kinds = job.slicings.map(slicing => slicing.by).filter(by => by !== 'value');
    expect(new Set(kinds).size).toBe(kinds.length);
  });

  test('what is never stored has neither field nor column', async () => {
    const columns = (await columnsOf(name)).map(column => column.name);
    for (const field of job.never) {
      expect(job.record.shape).not.toHaveProperty(field);
      expect(columns).not.toContain(field);
    }
  });

  test('its record is stored exactly as it came', async () => {
    const table = tableIn(MIGRATIONS.schema, declareTable(name, job));
    const whole = wholeRowOf(job);
    const single = () => fields().filter(([field]) => field !== whole);
    const probe = (shape: Record<string, unknown>) =>
      Object.fromEntries(Object.entries(shape).map(([field, schema]) => [field, probeOf(schema).given]));
    const record: Record<string, unknown> = {
      ...probe(Object.fromEntries(single())),
      unheard_of: [1, 'two'],
    };
    for (const field of Object.keys(job.children)) record[field] = [probe(childShape(job, field))];
    for (const field of job.never) record[field] = 'never';

    const parsed = createRecordParser(job, { hashed: table.hashed, contentKeyed: false })(
      record,
      '2026-01-15 10:00:00+00',
    );
    if (!('row' in parsed)) throw new Error(JSON.stringify(parsed.bad));
    await database.transaction(tx => writeRows(tx, table, [parsed.row], { resource: name, runId: null, deep: false }));

    const { rows } = await database.query(`select * from ${MIGRATIONS.schema}.${name}`);
    for (const [field, schema] of single()) expect(String(rows[0]?.[field]), field).toBe(probeOf(schema).stored);
    expect(rows[0]?._extra).toEqual(whole === undefined ? { unheard_of: [1, 'two'] } : null);
    if (whole !== undefined) expect(rows[0]?.[whole]).toEqual(record);
    for (const [field, child] of Object.entries(job.children)) {
      const lines = await database.query(`select * from ${MIGRATIONS.schema}.${child.table}`);
      expect(lines.rows).toHaveLength(1);
      for (const [each, schema] of Object.entries(childShape(job, field)))
        expect(String(lines.rows[0]?.[each]), each).toBe(probeOf(schema).stored);
    }
  });
});
