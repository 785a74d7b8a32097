import { withAnySignal } from '../../any-signal.ts';
import { SECOND } from '../../clock.ts';
import { setRunWaiting } from '../../warehouse/ledgers/runs.ts';
import type { Loop, Serves } from './engine.ts';

/** Of a loop whose readings the limit blocks. */
const IDLE_MS = 5 * SECOND;

/** What wakes a loop that has nothing to do. One waits at a time. */
export interface Wakes {
  /** Whether a notice, that something may be due, has come since this was last asked. */
  takeNotice(): boolean;
  /**
   * Waits until a reading ends, something may be due (`woken`), or a step is committed beside which a backfill may be asked to stop (`page`). While
   * the limit blocks all readings it returns `idle` every few seconds, however often something may be due.
   */
  next(): Promise<'ended' | 'page' | 'idle' | 'woken'>;
  /** Sleeps, unless something may be due. Rejects as soon as `signal` aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** `nextCommit` resolves with the next step that is committed. */
export function createWakes(loop: Loop, { onWoken }: Serves, nextCommit: () => Promise<void>): Wakes {
  const { engine } = loop;
  const { clock, waiting } = engine;
  let isWoken = false;
  let tell = () => {};
  onWoken?.(() => {
    isWoken = true;
    tell();
  });
  /** Since when the limit blocks all readings, by this machine's clock; null when it does not. */
  let idleSince: number | null = null;

  const woken = () =>
    new Promise<void>(resolve => {
      if (isWoken) resolve();
      else tell = resolve;
    });

  async function waitIdly(over: AbortSignal): Promise<void> {
    await waiting.begun();
    if (over.aborted) return;
    const left = waiting.left();
    const isFirst = idleSince === null;
    idleSince ??= clock.now();
    if (isFirst && left > IDLE_MS) {
      const runIds = loop.tasks.map(task => task.runId);
      await setRunWaiting(engine.database.kysely, runIds, left);
      engine.onEvent?.({ kind: 'waiting', waitMs: left });
    }
    const restMs = Math.min(left, idleSince + IDLE_MS - clock.now());
    if (restMs > 0) await clock.sleep(restMs, over).catch(() => undefined);
  }

  return {
    takeNotice() {
      const was = isWoken;
      isWoken = false;
      return was;
    },
    async next() {
      const over = new AbortController();
      const why = await Promise.race([
        ...[...loop.running].map(each => each.then(() => 'ended' as const)),
        // A paused or cancelled backfill stops at the next page, not at the end of its slice.
        ...(loop.tasks.some(task => task.kind === 'backfill') ? [nextCommit().then(() => 'page' as const)] : []),
        waitIdly(over.signal).then(() => 'idle' as const),
        woken().then(() => 'woken' as const),
      ]);
      over.abort();
      if (why !== 'woken') idleSince = null;
      return why;
    },
    sleep: (ms, signal) =>
      withAnySignal([signal], controller =>
        Promise.race([clock.sleep(ms, controller.signal), woken()]).finally(() => controller.abort()),
      ),
  };
}
