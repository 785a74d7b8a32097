export interface Point<V extends string> {
  readonly about: string;
  /** Value to description. */
  readonly values: Readonly<Record<V, string>>;
  /** The default: the behaviour most likely to be found. */
  readonly likely: V;
  /** Further values, such as other numbers. */
  readonly also?: RegExp;
}

/** A point of the document, with its likely value. */
export function point<const V extends string>(
  about: string,
  values: Record<V, string>,
  likely: NoInfer<V>,
  also?: RegExp,
): Point<V> {
  return { about, values, likely, ...(also && { also }) };
}
