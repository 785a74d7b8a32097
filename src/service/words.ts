import type { Usage } from '../budget/ledger.ts';
import { stampMs } from '../warehouse/database/stamp.ts';
import type { ResourceState } from '../warehouse/reports/report.ts';

/** 12345 as `12,345`. */
export const count = (value: number): string => value.toLocaleString('en-US');

/** `1 row`, `12 rows`. */
export const plural = (value: number, word: string): string => `${count(value)} ${word}${value === 1 ? '' : 's'}`;

/** A moment (epoch ms or Postgres text) as `2026-01-15 10:00:05`, in the zone people think in. */
export function moment(at: number | string | null, timeZone: string): string {
  if (at === null) return '';
  const atMs = typeof at === 'number' ? at : stampMs(at);
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }).format(atMs);
}

/** As of when a resource is proven, or why it is not. */
export const provenText = (
  state: Pick<ResourceState, 'absent' | 'neverRead' | 'oldestProof'>,
  at: (value: string | null) => string,
): string =>
  state.absent
    ? 'not offered'
    : state.neverRead > 0
      ? `${plural(state.neverRead, 'part')} unread`
      : at(state.oldestProof);

/** What the request limit was spent on and what is left of it, in one line. */
export function budgetLine(usage: Usage, at: (value: string | null) => string): string {
  const { used, limit, free, withheld, blockedUntil, nextFreeAt } = usage;
  const others = withheld > 0 ? `, ${count(withheld)} by other programs on this key` : '';
  const blocked = blockedUntil ? `; the source asks to wait until ${at(blockedUntil)}` : '';
  const next = !blockedUntil && free === 0 && nextFreeAt ? `; the next is free at ${at(nextFreeAt)}` : '';
  return `${count(used)} of ${count(limit)} in the window used${others}, ${count(free)} left${blocked}${next}`;
}
