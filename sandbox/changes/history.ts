/** An edit that can be taken back and made again. */
interface Step {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly undo: () => void;
  readonly redo: () => void;
}

/** The edits of the latest minute. */
export interface History {
  record(step: Step): void;
  /** Runs `read` on the rows as they were at a moment. It must not edit, and must not read later. */
  asOf<T>(at: number, read: () => T): T;
}

export function createHistory(keepMs: number): History {
  let steps: Step[] = [];
  return {
    record(step) {
      steps = steps.filter(({ at }) => at >= step.at - keepMs);
      steps.push(step);
    },
    asOf(at, read) {
      const later = steps.filter(step => step.at > at);
      for (const { undo } of [...later].reverse()) undo();
      try {
        return read();
      } finally {
        for (const { redo } of later) redo();
      }
    },
  };
}
