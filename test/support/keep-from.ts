import type { Sandbox } from '../../sandbox/sandbox.ts';

/** Removes what is dated before this day. A report then has fewer months, each of which takes a request. */
export function keepFrom(sandbox: Sandbox, day: string): void {
  for (const list of ['transactions', 'invoices'] as const)
    for (const { id, date } of [...sandbox.rows(list)])
      if (date !== null && /^2\d{3}-/.test(date) && date < day) sandbox.remove(list, id);
}
