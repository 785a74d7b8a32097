// Runs several local sources in a process of their own, so that their cost is not counted as Sluice's. Started by
// bench/fleet.ts.
import { openSandbox, type Sandbox } from '../sandbox/sandbox.ts';

/** The request of the parent process: sources `from` to `to`. */
export interface SandboxesWanted {
  readonly from: number;
  readonly to: number;
  readonly size: 'small' | 'medium' | 'large' | 'extreme';
}

/** The answer, once all sources listen. */
export interface SandboxOpened {
  readonly number: number;
  readonly url: string;
  readonly apiKey: string;
  /** Rows of each list that Sluice reads. They never change, so a warehouse with as many rows is complete. */
  readonly rows: Readonly<Record<string, number>>;
}

process.once('message', async ({ from, to, size }: SandboxesWanted) => {
  const sandboxes: Sandbox[] = [];
  const opened: SandboxOpened[] = [];
  for (let number = from; number <= to; number++) {
    // Rows are generated on request and no request is logged: a medium source takes 1.5 MB.
    const sandbox = await openSandbox({ size, seed: number, apiKey: `key-of-source-${number}`, logRequests: 0 });
    sandboxes.push(sandbox);
    const { leads: _, ...lists } = sandbox.data;
    opened.push({
      number,
      url: sandbox.url,
      apiKey: sandbox.apiKey,
      rows: Object.fromEntries(Object.entries(lists).map(([name, { size }]) => [name, size])),
    });
  }
  process.once('disconnect', () => process.exit());
  process.send?.(opened);
});
