import cliProgress from 'cli-progress';
import { type Clock, SECOND } from '../../clock.ts';
import { wants } from '../../engine/agenda/choice.ts';
import { partition } from '../../engine/resource.ts';
import type { LoopEvent } from '../../engine/run/engine.ts';
import type { Task } from '../../engine/run/task.ts';
import { count, plural } from '../../service/format.ts';
import type { Terminal } from './terminal.ts';
import { NOTICED_MS, quotaText, retryText } from './wait-note.ts';

/** Where one resource stands. `share`: of its rows, 0 to 1. */
export interface Standing {
  readonly resource: string;
  readonly rows: number;
  readonly requests: number;
  readonly share: number | null;
}

/** Shows how the reading of one source goes on. */
export interface Progress {
  readonly onEvent: (event: LoopEvent) => void;
  stand(standing: Standing): void;
  /** `until`: epoch milliseconds. */
  waiting(until: number): void;
}

interface Shown {
  stand(standing: Standing): void;
  /** For all whose names begin so. */
  waiting(text: string, prefix: string, until: number): void;
  ended(resource: string, state: string): void;
  stop(): void;
}

const LINE_EVERY_MS = 10 * SECOND;

/** Bars on a terminal, elsewhere a line every few seconds; `stop` takes the bars away. */
export function createProgress(options: { terminal: Terminal; clock: Clock }): {
  /** Of one source; its name stands before the resources where it is given. `timeZone`: where its moments are told. */
  of(source: string | null, timeZone: string): Progress;
  stop(): void;
} {
  const { clock } = options;
  const shown = options.terminal.watched ? bars() : lines(options.terminal, clock);
  const of = (source: string | null, timeZone: string): Progress => {
    const prefix = source === null ? '' : `${source} `;
    const stand = (standing: Standing) => shown.stand({ ...standing, resource: `${prefix}${standing.resource}` });
    const waiting = (at: number) => shown.waiting(quotaText(at, timeZone), prefix, at);
    return {
      stand,
      waiting,
      onEvent(event) {
        if (event.kind === 'waiting') return waiting(clock.now() + event.waitMs);
        if (event.kind === 'retrying') {
          const at = clock.now() + event.waitMs;
          if (event.waitMs >= NOTICED_MS) shown.waiting(retryText(event.came, at, timeZone), prefix, at);
          return;
        }
        const { task } = event;
        const { rowsRead, requests } = task.counts;
        stand({ resource: task.resource.name, rows: rowsRead, requests, share: shareOf(task) });
        if (event.kind === 'ended') shown.ended(`${prefix}${task.resource.name}`, event.state ?? 'done');
      },
    };
  };
  return { of, stop: () => shown.stop() };
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

function lines(terminal: Terminal, clock: Clock): Shown {
  const last = new Map<string, number>();
  const told = new Map<string, number>();
  return {
    stand({ resource, rows, requests }) {
      const before = last.get(resource);
      if (before === undefined) terminal.note(`${resource}: reading`);
      else if (clock.now() - before >= LINE_EVERY_MS)
        terminal.note(`${resource}: ${plural(rows, 'row')} in ${plural(requests, 'request')} so far`);
      else return;
      last.set(resource, clock.now());
    },
    waiting(text, prefix, until) {
      if (Math.abs(until - (told.get(prefix) ?? 0)) < 5 * SECOND) return;
      told.set(prefix, until);
      terminal.note(`${prefix}${text}`);
    },
    ended(resource, state) {
      last.delete(resource);
      terminal.note(`${resource}: ${state}`);
    },
    stop: () => undefined,
  };
}

function bars(): Shown {
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
    waiting(note, prefix) {
      for (const resource of all.keys()) if (resource.startsWith(prefix)) set(resource, null, { note });
    },
    ended: (resource, state) => set(resource, state === 'done' ? 100 : null, { note: state }),
    stop: () => multi.stop(),
  };
}
