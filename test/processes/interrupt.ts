import type { Sandbox } from '../../sandbox/sandbox.ts';
import { begin, type Ended, type RunOptions, until } from '../cli/run-command.ts';

/** Starts a command, lets it make `requests` requests, and ends it by `signal`; how it ended, also when it was done before. */
export async function interrupt(
  sandbox: Sandbox,
  args: readonly string[],
  options: RunOptions & { requests: number; signal: NodeJS.Signals },
): Promise<Ended & { signalled: boolean }> {
  const running = begin(args, options);
  const at = sandbox.stats.total + options.requests;
  let over = false;
  void running.ended.finally(() => {
    over = true;
  });
  await until(() => over || sandbox.stats.total >= at);
  const signalled = !over && running.child.kill(options.signal);
  return { ...(await running.ended), signalled };
}
