import cliProgress from 'cli-progress';
import { type Clock, SECOND } from '../../clock.ts';
import { wants } from '../../engine/agenda/choice.ts';
import { partition } from '../../engine/coverage/list.ts';
import type { LoopEvent } from '../../engine/run/engine.ts';
import type { Task } from '../../engine/task/task.ts';
import { count, plural } from '../../service/format.ts';
import { visibleText } from '../../visible-text.ts';
import type { Terminal } from '../session/terminal.ts';
import { crowdedText, momentWithZone } from './moments.ts';

/** A shorter wait is not worth a line. */
const NOTICED_MS = 2 * SECOND;

/** Waits that end this close to each other are reported once. */
const SAME_WAIT_MS = 5 * SECOND;

const limitText = (at: number, timeZone: string): string =>
  `waiting for the request limit until ${momentWithZone(at, timeZone)}`;

/** A repair waits until answers can no longer lag behind what it has read. */
const pauseText = (at: number, timeZone: string): string =>
  `answers may not show the latest changes yet; asking again at ${momentWithZone(at, timeZone)}, when answers no longer lag (SOURCE_LAG_SECONDS)`;

/** `came`: what came instead of an answer. */
const retryText = (came: string, at: number, timeZone: string): string =>
  `${came}; next attempt at ${momentWithZone(at, timeZone)}`;

/** Progress of one resource. `share`: the part of its rows that has been read, 0 to 1; null if unknown. */
interface Standing {
  readonly resource: string;
  readonly rows: number;
  readonly requests: number;
  readonly share: number | null;
}

export type Progress = ReturnType<ReturnType<typeof createProgress>['of']>;

const LINE_EVERY_MS = 10 * SECOND;

/** Bars on a terminal, otherwise a line every ten seconds. `stop` releases the terminal. */
export function createProgress({ terminal, clock }: { terminal: Terminal; clock: Clock }) {
  const shown = terminal.watched ? createBars(terminal.watched) : createLines(terminal, clock);
  /** For one source. A `source` name precedes the resources; times are shown in `timeZone`. */
  const of = (source: string | null, timeZone: string) => {
    const prefix = source === null ? '' : `${source} `;
    const update = (standing: Standing) => shown.update({ ...standing, resource: `${prefix}${standing.resource}` });
    /** `until`: epoch milliseconds. */
    const waiting = (until: number) => shown.waiting(limitText(until, timeZone), prefix, until);
    const onEvent = (event: LoopEvent) => {
      const at = clock.now() + ('waitMs' in event ? event.waitMs : 0);
      if (event.kind === 'waiting') return waiting(at);
      if (event.kind === 'crowded') return shown.note(`${prefix}${crowdedText(event.allowed, event.concurrency)}`);
      if (event.kind === 'retrying') {
        if (event.waitMs >= NOTICED_MS) shown.waiting(retryText(event.came, at, timeZone), prefix, at);
        return;
      }
      const { task } = event;
      const name = task.resource.name;
      if (event.kind === 'pausing') return shown.note(`${prefix}${name}: ${pauseText(at, timeZone)}`);
      const { rowsRead, requests } = task.counts;
      update({ resource: name, rows: rowsRead, requests, share: shareOf(task) });
      if (event.kind === 'ended') shown.ended(`${prefix}${name}`, event.state ?? 'done');
    };
    return { update, waiting, onEvent };
  };
  return { of, stop: () => shown.stop() };
}

/** The part of a task's rows that has been read; null if unknown. */
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

function createLines(terminal: Pick<Terminal, 'note'>, clock: Clock) {
  const last = new Map<string, number>();
  const reported = new Map<string, number>();
  return {
    update({ resource, rows, requests }: Standing) {
      const before = last.get(resource);
      if (before === undefined) terminal.note(`${resource}: reading`);
      else if (clock.now() - before >= LINE_EVERY_MS)
        terminal.note(`${resource}: ${plural(rows, 'row')} in ${plural(requests, 'request')} so far`);
      else return;
      last.set(resource, clock.now());
    },
    /** Applies to every resource whose name starts with `prefix`. */
    waiting(text: string, prefix: string, until: number) {
      if (Math.abs(until - (reported.get(prefix) ?? 0)) < SAME_WAIT_MS) return;
      reported.set(prefix, until);
      terminal.note(`${prefix}${text}`);
    },
    ended(resource: string, state: string) {
      last.delete(resource);
      terminal.note(`${resource}: ${state}`);
    },
    note: (text: string) => terminal.note(text),
    stop: (): void => undefined,
  };
}

/** For a command that sends its own requests: one line for each noticeable wait, why and until when. */
export function createWaitNote(terminal: Pick<Terminal, 'note'>, clock: Clock, name: string, timeZone: string) {
  const lines = createLines(terminal, clock);
  const note = (waitMs: number, text: (at: number) => string) => {
    const at = clock.now() + waitMs;
    if (waitMs >= NOTICED_MS) lines.waiting(text(at), `${name}: `, at);
  };
  return {
    onWait: (_lane: unknown, waitMs: number) => note(waitMs, at => limitText(at, timeZone)),
    onRetry: (came: string, waitMs: number) => note(waitMs, at => retryText(came, at, timeZone)),
  };
}

function createBars(stream: NodeJS.WriteStream): ReturnType<typeof createLines> {
  const multi = new cliProgress.MultiBar({
    format: '{resource} {bar} {rows} rows  {requests} requests  {note}',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 24,
    hideCursor: true,
    stream,
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
    update: ({ resource, rows, requests, share }) =>
      set(resource, share === null ? null : Math.floor(share * 100), {
        rows: count(rows),
        requests: count(requests),
        note: '',
      }),
    waiting(note, prefix) {
      for (const resource of all.keys())
        if (resource.startsWith(prefix)) set(resource, null, { note: visibleText(note) });
    },
    ended: (resource, state) => set(resource, state === 'done' ? 100 : null, { note: state }),
    note: text => multi.log(`${visibleText(text)}\n`),
    stop: () => multi.stop(),
  };
}
