/** A stored row that a reading should have shown and did not. */
export interface LackedRow {
  readonly key: string;
  /** When it was last inserted or updated here (epoch ms). */
  readonly storedAt: number;
}

/** An answer that lacks rows. */
export interface LaggingAnswer {
  /** It was requested at this moment (epoch ms) or later. */
  readonly at: number;
  /** It may show the source as it was so many milliseconds before. */
  readonly lagMs: number;
}

/** The rows whose absence is believed, and from when on (epoch ms) that of the others would be; null if there are none. */
export interface Believed {
  readonly lacked: readonly LackedRow[];
  readonly askAgainAt: number | null;
}

/** An answer of a replica, or of a cache, proves nothing about rows that appeared after the moment it may show. */
export function believed(rows: readonly LackedRow[], { at, lagMs }: LaggingAnswer): Believed {
  const isNew = ({ storedAt }: LackedRow) => storedAt > at - lagMs;
  const latest = rows.filter(isNew).reduce((last, { storedAt }) => Math.max(last, storedAt), Number.NEGATIVE_INFINITY);
  return {
    lacked: rows.filter(row => !isNew(row)),
    askAgainAt: Number.isFinite(latest) ? latest + lagMs : null,
  };
}
