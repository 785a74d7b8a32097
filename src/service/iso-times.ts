/** `timestamptz` as Postgres writes it. */
const STAMP = /^(\d{4,6}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)([+-]\d\d)(:\d\d)?$/;

/** A moment as Postgres writes it in ISO 8601, with all its digits; any other text as it is. */
export function isoText(text: string): string {
  const [, day, time, hours, minutes = ':00'] = STAMP.exec(text) ?? [];
  if (day === undefined) return text;
  const zone = hours === '+00' && minutes === ':00' ? 'Z' : `${hours}${minutes}`;
  return `${day}T${time}${zone}`;
}

/** For JSON.stringify: documents show every moment in ISO 8601, be it text of Postgres or, under `...At` and `...Until`, a number. */
export function isoTimes(name: string, value: unknown): unknown {
  if (typeof value === 'string') return isoText(value);
  return typeof value === 'number' && /(At|Until)$/.test(name) ? new Date(value).toISOString() : value;
}
