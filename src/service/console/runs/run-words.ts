import type { RunState } from '../../../warehouse/ledgers/runs.ts';
import type { PastRun } from '../../../warehouse/reports/run-history.ts';
import type { Badge } from '../../status/condition.ts';

const KINDS: Readonly<Record<string, string>> = { slot: 'tick', hint: 'webhook' };

/** What a run was for, in one word. */
export const kindWord = (kind: string): string => KINDS[kind] ?? kind;

const STATES: Readonly<Record<RunState, Badge>> = {
  running: { icon: 'busy', tone: 'busy', text: 'running' },
  waiting: { icon: 'wait', tone: '', text: 'waiting' },
  done: { icon: 'ok', tone: 'good', text: 'done' },
  failed: { icon: 'bad', tone: 'bad', text: 'failed' },
  stopped: { icon: 'off', tone: '', text: 'stopped' },
};

export const runState = (state: RunState): Badge => STATES[state];

/** `3 new, 12 changed, 1 deleted`; empty where nothing changed. */
export function changesText({ inserted, updated, deleted }: Pick<PastRun, 'inserted' | 'updated' | 'deleted'>): string {
  const parts = [
    [inserted, 'new'],
    [updated, 'changed'],
    [deleted, 'deleted'],
  ] as const;
  return parts
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count.toLocaleString('en-US')} ${word}`)
    .join(', ');
}
