import type { ListFields, MaskedField, NewField } from './list-fields.ts';

/** A field that is not to be stored as it comes. */
export interface NewRule extends MaskedField {
  readonly source: string;
  readonly resource: string;
}

/** What is changed, in the words that tell of it. */
export interface Change {
  /** The page that tells: of a list, of all sources or of one; or of the reserve of a source. */
  readonly page: { readonly resource: string; readonly source?: string } | { readonly reserveOf: string };
  /** `products.hours becomes a column`. */
  readonly doing: string;
  readonly done: string;
  readonly failed: string;
}

/** How the console shows and changes what the installation declares. */
export interface Editor {
  /** The types of columns. */
  readonly types: readonly string[];
  readFields(source: string, resource: string): Promise<ListFields>;
  /** What is left to other programs with the key of a source, as the settings say it, such as `30%`; null for nothing. */
  reserveOf(source: string): string | null;
  /**
   * Each checks a change, and lets the service carry it out once its readings have ended. Kinds `usage` and `configuration` for one that cannot
   * be, `failed` where this service may not, or not now.
   */
  addField(field: NewField): Promise<void>;
  addRule(rule: NewRule): Promise<void>;
  setReserve(source: string, reserve: string): Promise<void>;
  /** The change that is under way, or was the last; why nothing came of it. */
  readonly last: { readonly change: Change; readonly isUnderWay: boolean; readonly failure: string | null } | null;
}
