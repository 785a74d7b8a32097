import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Counts, Size } from '../../sandbox/data/data.ts';

export interface SourceOptions {
  readonly size: Size | Counts;
  /** Rows per page, at most. */
  readonly page: '100' | '1000';
}

export type SourceMessage = { url: string; apiKey: string } | { changed: number };

/** Where a source listens. */
export interface SourceAddress {
  readonly url: string;
  readonly apiKey: string;
}

export interface Source extends SourceAddress {
  /** Edits one row in `every` of customers, invoices and transactions; returns how many. */
  changeRows(every: number): Promise<number>;
  close(): Promise<void>;
}

/** Starts a sandbox without a request limit in a process of its own. */
export async function openSource(options: SourceOptions): Promise<Source> {
  const child = fork(fileURLToPath(new URL('sandbox-process.ts', import.meta.url)));
  child.send(options);
  const opened = await answerOf(child);
  if (!('url' in opened)) throw new Error('The sandbox did not open.');
  return {
    ...opened,
    async changeRows(every) {
      child.send(every);
      const answer = await answerOf(child);
      return 'changed' in answer ? answer.changed : 0;
    },
    async close() {
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}

async function answerOf(child: ChildProcess): Promise<SourceMessage> {
  const ended = new AbortController();
  const died = () => ended.abort(new Error('The process of the sandbox ended.'));
  child.once('exit', died);
  try {
    const [message] = (await once(child, 'message', { signal: ended.signal })) as [SourceMessage];
    return message;
  } finally {
    child.off('exit', died);
  }
}

/** So many records, in the proportions of an installation: 1 customer to 2 invoices and 6 transactions. */
export function countsOf(records: number): Counts {
  const customers = Math.round(records / 9);
  const invoices = 2 * customers;
  return { customers, invoices, transactions: records - customers - invoices };
}
