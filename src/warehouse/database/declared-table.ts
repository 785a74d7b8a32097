/** What a job says of its table; the table, its history view, comments and types follow. Written by `engine/records/declare-table.ts`. */
export interface DeclaredTable extends Declared {
  /** The record's own key field. */
  readonly keyField: string;
  /** A file in `lists/` declares the list itself. */
  readonly isFromFile: boolean;
  readonly children: readonly DeclaredChild[];
  /** Earlier versions of changed rows are kept. */
  readonly history: boolean;
  readonly masks: readonly DeclaredMask[];
  /**
   * A stored row as JSON, with its lists by their fields, under these of its masks; undefined where nothing changes. `inside`: it is an item of
   * that list. Throws a `SyntaxError` on text that is not JSON.
   */
  readonly maskJson: (
    row: string,
    masks: readonly Pick<DeclaredMask, 'field' | 'rule'>[],
    inside?: string,
  ) => string | undefined;
}

/** A field of which nothing is stored, or a hash. */
export interface DeclaredMask {
  /** A column, one of a child table as `items.note`, or the name of fields without a column, at any depth. */
  readonly field: string;
  readonly rule: 'never' | 'hash';
  /** Tells the key of the hashes from others; null for `never`. */
  readonly keyMark: string | null;
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
