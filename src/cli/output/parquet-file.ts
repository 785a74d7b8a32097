import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { type Ask, type ColumnInfo, OIDS, type TextRow } from '../../warehouse/reports/read-query.ts';
import { openResultFile, type RowFile } from './result-file.ts';

/** Rows that are compressed together; they are in memory until then. */
const ROW_GROUP = 20_000;

export async function openParquetFile(path: string, columns: readonly ParquetColumn[]): Promise<RowFile> {
  const file = await openResultFile(path);
  const bytes = new ByteWriter();
  const parquet = new ParquetWriter({
    writer: bytes,
    schema: [{ name: 'root', num_children: columns.length }, ...columns.map(({ element }) => element)],
    createdBy: 'sluice',
  });
  let group: TextRow[] = [];

  async function writeGroup(): Promise<void> {
    const columnData = columns.map(({ element, value }, index) => ({
      name: element.name,
      data: group.map(row => {
        const text = row[index] ?? null;
        return text === null ? null : value(text);
      }),
    }));
    await parquet.write({ columnData, rowGroupSize: group.length });
    group = [];
    await writeBytes();
  }

  async function writeBytes(): Promise<void> {
    await file.write(bytes.getBytes());
    // The writer counts on from here.
    bytes.index = 0;
  }

  return {
    async write(_columns, rows) {
      group.push(...rows);
      if (group.length >= ROW_GROUP) await writeGroup();
    },
    async complete() {
      if (group.length > 0) await writeGroup();
      await parquet.finish();
      await writeBytes();
      await file.complete();
    },
    close: () => file.close(),
  };
}

export interface ParquetColumn {
  readonly element: SchemaElement;
  /** SQL for the value as text; `column` is its quoted name. */
  readonly select: (column: string) => string;
  readonly value: (text: string) => unknown;
}

interface Facts {
  /** No value is infinite or not a number. */
  readonly isFinite: boolean;
  /** Most digits before and after the point. */
  readonly whole: number;
  readonly scale: number;
}

const MOST_DIGITS = 38;
const WITH_FACTS: ReadonlySet<number> = new Set([OIDS.NUMERIC, OIDS.DATE, OIDS.TIMESTAMP, OIDS.TIMESTAMPTZ]);

/**
 * The columns of a file that holds the result of the query. Parquet fixes the digits of a decimal for the whole file, and knows no infinite
 * dates, so the values are looked at first; what does not fit becomes text.
 */
export async function parquetColumns(
  ask: Ask,
  query: string,
  columns: readonly ColumnInfo[],
): Promise<ParquetColumn[]> {
  const facts = await readFacts(ask, query, columns);
  return columns.map(({ name, oid }, index) => ofType(name, oid, facts[index]));
}

async function readFacts(ask: Ask, query: string, columns: readonly ColumnInfo[]): Promise<(Facts | undefined)[]> {
  if (!columns.some(({ oid }) => WITH_FACTS.has(oid))) return [];
  const selected = columns.map(({ oid }, index) => {
    const column = `c${index}`;
    if (oid === OIDS.NUMERIC)
      return `concat_ws(' ', coalesce(bool_and(${column} not in ('NaN', 'Infinity', '-Infinity')), true),
        coalesce(max(length(trunc(abs(${column}))::text)), 1), coalesce(max(scale(${column})), 0))`;
    return WITH_FACTS.has(oid) ? `concat_ws(' ', coalesce(bool_and(isfinite(${column})), true), 0, 0)` : "''";
  });
  const names = columns.map((_, index) => `c${index}`);
  const { rows } = await ask(`select ${selected.join()} from (${query}\n) as q(${names.join()})`);
  return (rows[0] ?? []).map(text => {
    if (!text) return undefined;
    const [finite, whole, scale] = text.split(' ');
    return { isFinite: finite === 't', whole: Number(whole), scale: Number(scale) };
  });
}

function ofType(name: string, oid: number, facts: Facts | undefined): ParquetColumn {
  const type = WITH_FACTS.has(oid) && facts?.isFinite !== true ? undefined : TYPES[oid]?.(facts);
  const { select = (quoted: string) => `${quoted}::text`, value, ...element } = type ?? TEXT;
  return { element: { name, repetition_type: 'OPTIONAL', ...element }, select, value };
}

type Type = Omit<SchemaElement, 'name'> & Pick<ParquetColumn, 'value'> & Partial<Pick<ParquetColumn, 'select'>>;

const TEXT: Type = { type: 'BYTE_ARRAY', converted_type: 'UTF8', value: text => text };
const integer = (): Type => ({ type: 'INT32', value: Number });
const timestamp = (isAdjustedToUTC: boolean) => (): Type => ({
  type: 'INT64',
  logical_type: { type: 'TIMESTAMP', isAdjustedToUTC, unit: 'MICROS' },
  select: quoted => `(extract(epoch from ${quoted}) * 1000000)::bigint::text`,
  value: BigInt,
});

/** By OID; all others are text, as are values that do not fit. */
const TYPES: Readonly<Record<number, (facts: Facts | undefined) => Type>> = {
  [OIDS.BOOL]: () => ({ type: 'BOOLEAN', value: text => text === 'true' }),
  [OIDS.BYTEA]: () => ({
    type: 'BYTE_ARRAY',
    select: quoted => `encode(${quoted}, 'hex')`,
    value: text => Buffer.from(text, 'hex'),
  }),
  [OIDS.INT8]: () => ({ type: 'INT64', value: BigInt }),
  [OIDS.INT2]: integer,
  [OIDS.INT4]: integer,
  [OIDS.FLOAT4]: () => ({ type: 'FLOAT', value: Number }),
  [OIDS.FLOAT8]: () => ({ type: 'DOUBLE', value: Number }),
  [OIDS.NUMERIC]: facts => {
    if (!facts || facts.whole + facts.scale > MOST_DIGITS) return TEXT;
    const { scale } = facts;
    const type = { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, converted_type: 'DECIMAL' } as const;
    // An exact decimal: its digits without the point.
    const select = (quoted: string) => `trunc(${quoted} * 1e${scale})::text`;
    return { ...type, precision: MOST_DIGITS, scale, select, value: BigInt };
  },
  [OIDS.DATE]: () => ({
    type: 'INT32',
    converted_type: 'DATE',
    select: quoted => `(${quoted} - date '1970-01-01')::text`,
    value: Number,
  }),
  [OIDS.TIMESTAMP]: timestamp(false),
  [OIDS.TIMESTAMPTZ]: timestamp(true),
};
