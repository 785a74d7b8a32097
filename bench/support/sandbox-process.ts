// A source in a process of its own, so that its cost is not counted as Sluice's. Started by bench/support/open-source.ts.
import { openSandbox } from '../../sandbox/sandbox.ts';
import type { SourceMessage, SourceOptions } from './open-source.ts';

process.once('disconnect', () => process.exit());
process.once('message', async ({ size, page }: SourceOptions) => {
  const sandbox = await openSandbox({ size, rateLimit: 0, logRequests: 0, variants: { 'limit-max': page } });
  const send = (message: SourceMessage) => process.send?.(message);
  process.on('message', (every: number) => send({ changed: changeRows(every) }));
  send({ url: sandbox.url, apiKey: sandbox.apiKey });

  /** Edits one row in `every` of the large lists. */
  function changeRows(every: number): number {
    const pick = (rows: Iterable<{ id: number }>) =>
      [...rows].filter((_, index) => index % every === 0).map(({ id }) => id);
    const customers = pick(sandbox.rows('customers'));
    const invoices = pick(sandbox.rows('invoices'));
    const transactions = pick(sandbox.rows('transactions'));
    for (const id of customers) sandbox.update('customers', id, { phone: '+43 1 58858' });
    for (const id of invoices) sandbox.update('invoices', id, { notes: 'Edited' });
    for (const id of transactions) sandbox.update('transactions', id, { description: 'Edited' });
    return customers.length + invoices.length + transactions.length;
  }
});
