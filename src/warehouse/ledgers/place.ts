/** One resource of one source: the owner of a piece of bookkeeping. */
export interface Place {
  readonly source: string;
  readonly resource: string;
}
