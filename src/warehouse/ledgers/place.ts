/** Whose bookkeeping: one resource of one source. */
export interface Place {
  readonly source: string;
  readonly resource: string;
}
