import cliProgress from 'cli-progress';
import { type Clock, SECOND } from '../clock.ts';
import type { LoopEvent } from '../engine/engine.ts';
import { partition } from '../engine/resource.ts';
import { type Task, wants } from '../engine/task.ts';
import { count, plural } from './table.ts';
import type { Terminal } from './terminal.ts';

/** Where one resource stands. `share`: of its rows, 0 to 1. */
export interface Standing {
  readonly resource: string;
  readonly rows: number;
  readonly requests: number;
  readonly share: number | null;
}

/** Shows how reading goes on: bars on a terminal, elsewhere a line every few seconds. */
export interface Progress {
  onEvent(event: LoopEvent): void;
  stand(standing: Standing): void;
  /** `until`: epoch milliseconds. */
  waiting(until: number): void;
  ended(resource: string, state: string): void;
  /** Takes the bars away. */
  stop(): void;
}

const LINE_EVERY_MS = 10 * SECOND;

export function createProgress(options: { terminal: Terminal; clock: Clock }): Progress {
  const { clock } = options;
  const shown = options.terminal.watched ? bars() : lines(options.terminal, clock);
  return {
    ...shown,
    onEvent(event) {
      if (event.kind === 'waiting') return shown.waiting(clock.now() + event.waitMs);
      const { task } = event;
      const { rowsRead, requests } = task.counts;
      shown.stand({ resource: task.resource.name, rows: rowsRead, requests, share: shareOf(task) });
      if (event.kind === 'ended') shown.ended(task.resource.name, event.state ?? 'done');
    },
  };
}

/** Of the rows a task wants, the part it has read, as far as known. */
function shareOf(task: Task): number | null {
  let wanted = 0;
  let proven = 0;
  for (const entry of partition(task.resource)) {
    if (!wants(task, entry.slice)) continue;
    const rows = entry.rows ?? task.resource.total ?? 100;
    wanted += rows;
    if (entry.provenAt !== null && entry.provenAt >= task.since) proven += rows;
  }
  if (wanted === 0) return null;
  return Math.min((task.reportOnly ? task.counts.rowsRead : proven) / wanted, 1);
}

const until = (at: number): string => `waiting for quota until ${new Date(at).toLocaleTimeString('en-GB')}`;

function lines(terminal: Terminal, clock: Clock): Omit<Progress, 'onEvent'> {
  const last = new Map<string, number>();
  let told = 0;
  return {
    stand({ resource, rows, requests }) {
      const before = last.get(resource);
      if (before === undefined) terminal.note(`${resource}: reading`);
      else if (clock.now() - before >= LINE_EVERY_MS)
        terminal.note(`${resource}: ${plural(rows, 'row')} in ${plural(requests, 'request')} so far`);
      else return;
      last.set(resource, clock.now());
    },
    waiting(at) {
      if (Math.abs(at - told) < 5 * SECOND) return;
      told = at;
      terminal.note(until(at));
    },
    ended(resource, state) {
      last.delete(resource);
      terminal.note(`${resource}: ${state}`);
    },
    stop: () => undefined,
  };
}

function bars(): Omit<Progress, 'onEvent'> {
  const multi = new cliProgress.MultiBar({
    format: '{resource} {bar} {rows} rows  {requests} requests  {note}',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 24,
    hideCursor: true,
    stream: process.stderr,
    emptyOnZero: true,
  });
  const all = new Map<string, cliProgress.SingleBar>();
  const set = (resource: string, value: number | null, payload: Record<string, string>) => {
    const start = { resource: resource.padEnd(14), rows: '0', requests: '0', note: '' };
    const bar = all.get(resource) ?? multi.create(100, 0, start);
    all.set(resource, bar);
    if (value === null) bar.update(payload);
    else bar.update(value, payload);
  };
  return {
    stand: ({ resource, rows, requests, share }) =>
      set(resource, share === null ? null : Math.floor(share * 100), {
        rows: count(rows),
        requests: count(requests),
        note: '',
      }),
    waiting(at) {
      for (const resource of all.keys()) set(resource, null, { note: until(at) });
    },
    ended: (resource, state) => set(resource, state === 'done' ? 100 : null, { note: state }),
    stop: () => multi.stop(),
  };
}
