/** Epoch milliseconds of a `timestamptz` as Postgres writes it in UTC: `2026-01-15 10:00:05.123+00`. */
export const stampMs = (stamp: string): number => Date.parse(stamp.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'));
