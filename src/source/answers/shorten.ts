const MOST_MATCHED = 4000;

/** What of a source's text is matched against expressions: enough for any message, too little to keep the process busy. */
export const beginning = (text: string): string => text.trimStart().slice(0, MOST_MATCHED);

/**
 * At most 300 characters of a source's message. Whole characters only, because Postgres stores no half of a surrogate pair. Remove the key
 * first: half a key would not be recognised.
 */
export function shorten(text: string): string {
  const short = text.length > 300 ? `${text.slice(0, 300)}…` : text;
  return short.toWellFormed();
}
