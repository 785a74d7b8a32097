import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { Format } from '../../service/query/csv.ts';
import type { ColumnInfo, TextRow } from '../../warehouse/reports/read-query.ts';
import { openResultFile } from '../output/result-file.ts';
import type { ParquetColumn } from './parquet-columns.ts';

/** A file of rows that appears under its name only once it is complete. */
export interface RowFile {
  write(columns: readonly ColumnInfo[], rows: readonly TextRow[]): Promise<void>;
  complete(): Promise<void>;
  /** Removes what was written, unless it is complete. */
  close(): Promise<void>;
}

export async function openTextFile(path: string, { write, end }: Format): Promise<RowFile> {
  const file = await openResultFile(path);
  return {
    async write(columns, rows) {
      await file.write(write(columns, rows));
    },
    async complete() {
      await file.write(end());
      await file.complete();
    },
    close: () => file.close(),
  };
}

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
