import type { Sandbox, SandboxOptions } from '../../../sandbox/sandbox.ts';
import type { Variants } from '../../../sandbox/variants/variants.ts';
import { MINUTE, SECOND } from '../../../src/clock.ts';
import { createManualClock, openForTest } from '../../sandbox/test-client.ts';
import type { Finding } from '../findings/finding.ts';
import { LIST_NAMES } from '../lists/documented-lists.ts';
import { type ProbeOptions, probe, type Report } from '../probe.ts';

/** A sandbox with these variants, and a function that probes it. */
export async function openWith(
  variants: Partial<Variants>,
  options: SandboxOptions = {},
): Promise<{ sandbox: Sandbox; run: (given?: Partial<ProbeOptions>) => Promise<Report> }> {
  const clock = createManualClock();
  // Not on the hour, when all kinds of windows look the same.
  clock.advance(17 * MINUTE);
  const sandbox = await openForTest({ clock, variants, ...options });
  const run = (given: Partial<ProbeOptions> = {}) =>
    probe({
      url: sandbox.url,
      apiKey: sandbox.apiKey,
      auth: 'bearer',
      clock,
      timeoutMs: 30 * SECOND,
      write: false,
      jobs: LIST_NAMES,
      ...given,
    });
  return { sandbox, run };
}

export const findingsOf = (findings: readonly Finding[], point: string) =>
  findings.filter(each => each.point === point);
export const methodsOf = (sandbox: Sandbox) => [...new Set(sandbox.stats.requests.map(({ method }) => method))];
export const notHandled = (findings: readonly Finding[]) =>
  findings.filter(({ handled }) => handled?.startsWith('not'));
