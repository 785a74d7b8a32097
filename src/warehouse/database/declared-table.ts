/** What a job says of its table; the table, its history view, comments and types follow. Written by `engine/records/declare-table.ts`. */
export interface DeclaredTable extends Declared {
  /** The record's own key field. */
  readonly keyField: string;
  readonly children: readonly DeclaredChild[];
  /** Earlier versions of changed rows are kept. */
  readonly history: boolean;
}

/** Lists inside a row, which become rows of their own. */
export interface DeclaredChild extends Declared {
  /** The record's field that lists the rows. */
  readonly field: string;
  /** The column that names the row they belong to. */
  readonly parent: string;
  /** A file in `lists/` declares it. */
  readonly isFromFile: boolean;
  /** Its rows of a value that was kept in `_extra`, given as JSON; undefined if the job cannot read it. */
  readonly readRows: (json: string) => readonly DeclaredRow[] | undefined;
}

export interface DeclaredRow {
  readonly values: Readonly<Record<string, string | null>>;
  readonly extra: string | null;
}

export interface Declared {
  readonly name: string;
  /** The file that declares it, for messages: `jobs/invoices.ts`. */
  readonly file: string;
  readonly comment: string;
  /** All columns, in the order in which they are created. */
  readonly columns: readonly DeclaredColumn[];
  /** The columns of its primary key. */
  readonly key: readonly string[];
  /** Columns that begin an index. */
  readonly indexed: readonly string[];
}

export interface DeclaredColumn {
  readonly name: string;
  /** As `format_type` writes it: `bigint`, `numeric`, `timestamp with time zone`. */
  readonly type: string;
  readonly comment: string;
  readonly required: boolean;
  /** A file in `lists/` declares it. */
  readonly isFromFile?: boolean;
  /**
   * The column's text for a value that was kept in `_extra`, given as JSON; undefined if the job cannot read it. Absent for a column of
   * Sluice's own.
   */
  readonly read?: (json: string) => string | null | undefined;
}

/** Every version of a list's rows. */
export const historyViewOf = (list: string): string => `${list}_history`;
