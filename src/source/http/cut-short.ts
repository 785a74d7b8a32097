/** As much of what a source says as a message shows, in whole characters: Postgres stores no half ones. To be done when the key is out. */
export function cutShort(text: string): string {
  const short = text.length > 300 ? `${text.slice(0, 300)}…` : text;
  return short.toWellFormed();
}
