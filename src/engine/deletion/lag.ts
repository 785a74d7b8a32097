/** A stored row that a reading should have shown and did not. */
export interface LackedRow {
  readonly key: string;
  /** When it was last inserted or updated here (epoch ms). */
  readonly storedAt: number;
}

/** The list, and the answer that lacks rows of it. All moments in epoch ms. */
export interface LaggingAnswer {
  /** The answer was requested at this moment or later. */
  readonly at: number;
  /** It may show the source as it was so many milliseconds before. */
  readonly lagMs: number;
  /** When every slice of the list was first proven; null before. Rows stored until then may have been there for years. */
  readonly firstProvenAt: number | null;
}

/** The rows whose absence is believed, and from when on (epoch ms) that of the others would be; null if there are none. */
export interface Believed {
  readonly lacked: readonly LackedRow[];
  readonly askAgainAt: number | null;
}

/** An answer of a replica, or of a cache, proves nothing about rows that appeared after the moment it may show. */
export function believed(rows: readonly LackedRow[], { at, lagMs, firstProvenAt }: LaggingAnswer): Believed {
  const isNew = ({ storedAt }: LackedRow) =>
    firstProvenAt !== null && storedAt > firstProvenAt && storedAt > at - lagMs;
  const latest = rows.filter(isNew).reduce((last, { storedAt }) => Math.max(last, storedAt), Number.NEGATIVE_INFINITY);
  return {
    lacked: rows.filter(row => !isNew(row)),
    askAgainAt: Number.isFinite(latest) ? latest + lagMs : null,
  };
}
