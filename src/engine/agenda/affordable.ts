import { type List, pageSize, partition, watched } from '../coverage/list.ts';

/**
 * Requests that it would take to read again what was not proven since a moment (epoch ms), as far as known. `holds`: past months are not
 * read again.
 */
export function rereadCost(list: List, since: number, holds = false): number {
  const parts = holds ? [] : partition(list);
  const rows = parts.reduce((sum, { provenAt, rows }) => ((provenAt ?? 0) >= since ? sum : sum + (rows ?? 0)), 0);
  const targeted = watched(list).reduce((sum, entry) => sum + entry.requests, 0);
  return Math.ceil((rows / pageSize(list)) * 1.1) + targeted;
}

/** Parts of the list that were never read: their size, and so their cost, is unknown. */
export const countUnread = (list: List): number => partition(list).filter(entry => entry.provenAt === null).length;

/**
 * Whether a sync reads everything again: if that costs at most half of what the limit allows in an hour, so that the rest stays for
 * others, and at most what is left now, so that nobody waits for it. `sluice sync --full` waits instead.
 */
export const isAffordable = (requests: number, { hourly, free }: { hourly: number; free: number }): boolean =>
  requests <= hourly / 2 && requests <= free;
