// Several local sources in one process of their own, so that what they cost is not counted as Sluice's. Started by bench/fleet.ts.
import { openSandbox, type Sandbox } from '../src/sandbox/sandbox.ts';

/** What the parent asks for: sources `from` to `to`. */
export interface SandboxesWanted {
  readonly from: number;
  readonly to: number;
  readonly size: 'small' | 'medium' | 'large' | 'extreme';
}

/** What it is told, once they all listen. */
export interface SandboxOpened {
  readonly number: number;
  readonly url: string;
  readonly apiKey: string;
  /** Rows of each list that Sluice reads. Nothing changes them, so a warehouse that holds as many is complete. */
  readonly rows: Readonly<Record<string, number>>;
}

process.once('message', async ({ from, to, size }: SandboxesWanted) => {
  const sandboxes: Sandbox[] = [];
  const opened: SandboxOpened[] = [];
  for (let number = from; number <= to; number++) {
    // Rows are made when they are asked for, and of requests none are kept: a medium source is 1.5 MB.
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
