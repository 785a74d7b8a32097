import fc from 'fast-check';
import { expect, test } from 'vitest';
import { rankOf } from '../../../src/budget/budget.ts';
import { wholeLimit } from '../../../src/budget/forecast.ts';
import { HOUR, MINUTE, SECOND } from '../../../src/clock.ts';
import type { Choice, PlanFacts } from '../../../src/engine/agenda/choice.ts';
import { targetsBeside } from '../../../src/engine/agenda/plan.ts';
import { partition, watched } from '../../../src/engine/coverage/list.ts';
import { contains } from '../../../src/engine/coverage/prove.ts';
import { profileOf } from '../../../src/engine/profile/source-profile.ts';
import { strategyFor } from '../../../src/engine/profile/strategy.ts';
import type { Resource } from '../../../src/engine/resource.ts';
import { type Agenda, agendaTask, newMemory } from '../../../src/engine/run/agenda.ts';
import { lookAtLimit } from '../../../src/engine/run/limit-seen.ts';
import { next } from '../../../src/engine/run/next/next.ts';
import type { Act, State } from '../../../src/engine/run/state.ts';
import { wholeTime } from '../../../src/engine/slices/date-windows.ts';
import { overlap, type Slice, sliceText } from '../../../src/engine/slices/slice.ts';
import { createTask, type Task, type UnderWay, update } from '../../../src/engine/task/task.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { anyFacts, NOW } from '../agenda/any-facts.ts';

/** Some lists of a source, the demands on them in their order of arrival, and which reading ends next. */
const anySource = fc.record({
  facts: fc.array(anyFacts, { minLength: 1, maxLength: 3 }),
  more: fc.array(fc.tuple(fc.nat(), anyFacts), { maxLength: 2 }),
  concurrency: fc.integer({ min: 1, max: 4 }),
  asks: fc.boolean(),
  limit: fc.constantFrom(5, 100, 1000),
  windowMs: fc.constantFrom(SECOND, MINUTE, HOUR),
  picks: fc.array(fc.nat(), { minLength: 20, maxLength: 20 }),
});

type Source = typeof anySource extends fc.Arbitrary<infer S> ? S : never;

interface Reading {
  readonly task: Task;
  readonly choice: Choice;
  readonly underWay: UnderWay;
}

/** Plays a source whose readings all add up, until nothing is left. What the loop would do, without requests. */
class Play {
  readonly tasks: Task[] = [];
  readonly agenda: Agenda | null;
  readonly lists: Resource[];
  readonly readings: Reading[] = [];
  now = NOW;
  granted = 0;
  limit: State['limit'] = null;

  private readonly given: Source;

  constructor(given: Source) {
    this.given = given;
    this.lists = given.facts.map(({ list, missing }, index) => listOf(list, missing, `list${index}`));
    for (const [index, { wish }] of given.facts.entries()) this.add(index, wish);
    for (const [index, { wish }] of given.more) this.add(index % this.lists.length, wish);
    const tasks = new Map(this.lists.map(list => [list, agendaTask(list, 'run', NOW)]));
    const memory = newMemory();
    // Windows are cut by what is stored.
    for (const { name } of this.lists) memory.cutAt.set(name, Number.POSITIVE_INFINITY);
    this.agenda = given.asks ? { tasks, asking: new Map(), ended: [], failing: new Map(), granted: 0, memory } : null;
  }

  private add(index: number, { kind, state, ...wish }: PlanFacts['wish']): void {
    const resource = this.lists[index] as Resource;
    if (this.tasks.some(task => task.kind === kind && task.resource === resource)) return;
    const lane = kind === 'backfill' || kind === 'verify' ? kind : 'live';
    const targets = kind === 'hint' ? partition(resource).map(({ slice }) => slice) : state.targets;
    const { since, from, to, reportOnly } = wish;
    const allowance = kind === 'hint' ? 10 : 0;
    this.tasks.push(
      createTask(
        { kind, resource, runId: `${this.tasks.length}`, orderId: null, lane, since, from, to, reportOnly },
        { allowance, targets },
      ),
    );
  }

  state(mayAsk = true): State {
    const { now, lists, tasks, limit, granted, agenda } = this;
    const { concurrency, limit: most, windowMs } = this.given;
    const rules = { concurrency, limit: most, windowMs, timeZone: 'UTC' };
    return { now, begunAt: NOW, rules, lists, tasks, running: this.readings.length, limit, granted, agenda, mayAsk };
  }

  begin(task: Task, choice: Choice): void {
    const { resource } = task;
    const { slice } = choice;
    for (const other of resource.reading) if (overlap(other, slice)) throw new Error(`${sliceText(slice)} overlaps`);
    update(task, { kind: 'asked', choice, targets: targetsBeside(resource, task) });
    resource.reading.add(slice);
    const underWay = { stopAsking: new AbortController(), abort: new AbortController() };
    task.underWay.add(underWay);
    this.readings.push({ task, choice, underWay });
    this.granted++;
  }

  /** One of the readings ends: the slice is equal then. */
  end(pick: number): void {
    const [{ task, choice, underWay }] = this.readings.splice(pick % this.readings.length, 1) as [Reading];
    const { resource } = task;
    const { slice, asks, metered } = choice;
    resource.reading.delete(slice);
    task.underWay.delete(underWay);
    this.now += SECOND;
    if (metered) update(task, { kind: 'spent', requests: 1 });
    if (this.agenda && task.kind === 'agenda') this.agenda.asking.clear();
    if (underWay.stopAsking.signal.aborted) return;
    const parts = asks === 'length' ? [] : [...partition(resource), ...watched(resource)];
    for (const entry of parts.filter(part => contains(slice, part.slice))) {
      const isProven = entry.slice.by === resource.strategy.partition && !task.reportOnly;
      const provenAt = isProven ? this.now : entry.provenAt;
      resource.entries.set(sliceText(entry.slice), { ...entry, provenAt, readAt: this.now, dueSince: null });
      if (task.reportOnly) update(task, { kind: 'done', slices: [sliceText(entry.slice)] });
    }
    update(task, { kind: 'done', slices: [sliceText(slice)] });
    if (slice.by === 'newest') update(task, { kind: 'counted', rows: 100, at: this.now, windowsHoldAll: false });
  }

  shown(): string {
    return this.tasks
      .map(({ kind, resource, state, reportOnly, from, to }) => {
        const { readsAll, closed, failure, allowance } = state;
        const due = partition(resource).map(({ slice, provenAt, dueSince }) =>
          [sliceText(slice), provenAt, dueSince].join(' '),
        );
        const done = [...state.done].join(', ');
        return `${kind} of ${resource.name} (${JSON.stringify({ readsAll, closed, failure, allowance, reportOnly, from, to })}): ${due.join(', ')}; done: ${done}`;
      })
      .join('\n');
  }

  /** Everything but a wait. */
  carryOut(act: Exclude<Act, { kind: 'wait' }>): void {
    switch (act.kind) {
      case 'ask':
        this.begin(act.task, act.choice);
        return;
      case 'end':
      case 'recount':
        expect(act.task.underWay.size).toBe(0);
        this.tasks.splice(this.tasks.indexOf(act.task), 1);
        return;
      case 'fail':
        throw act.error;
      case 'pause':
        update(act.task, { kind: 'paused', until: act.until });
        return;
      case 'give way':
        for (const { stopAsking } of act.readings) stopAsking.abort();
        return;
      case 'share':
        for (const [task, share] of act.shares) update(task, { kind: 'share taken', share });
        return;
      case 'look at the limit':
        this.limit = {
          forecast: wholeLimit(this.given.limit, this.given.windowMs),
          at: this.now,
          granted: this.granted,
        };
        // Until the loop decides again, it may have asked for its tasks.
        this.now += SECOND / 2;
        return;
      case 'drop slices':
        update(act.task, { kind: 'slices dropped' });
        for (const slice of act.slices) act.task.resource.entries.delete(sliceText(slice));
        return;
      default:
        throw new Error(`"${act.kind}" was not expected`);
    }
  }
}

const listOf = (list: PlanFacts['list'], missing: PlanFacts['missing'], name: string): Resource =>
  ({
    ...list,
    source: 'main',
    name,
    entries: new Map(list.entries),
    reading: new Set<Slice>(),
    missing,
    holdsMissing: true,
    // Whether it hides rows depends on what is stored.
    total: null,
    lagMs: 0,
  }) as unknown as Resource;

/** Acts until all demands have ended. Fails if that takes longer than the lists explain. */
function playToTheEnd(source: Source, look: (play: Play, act: Act) => void = () => undefined): void {
  const play = new Play(source);
  const parts = play.lists.reduce((sum, list) => sum + partition(list).length + watched(list).length + 60, 0);
  for (let turn = 0; play.tasks.length > 0; turn++) {
    expect(turn).toBeLessThan(60 * parts * (play.tasks.length + 1));
    const act = next(play.state(turn < 40));
    look(play, act);
    if (act.kind !== 'wait') play.carryOut(act);
    else if (play.readings.length > 0) play.end(source.picks[turn % source.picks.length] as number);
    else {
      if (act.wakeAt === null) throw new Error(`nothing goes on: ${play.shown()}`);
      play.now = Math.max(play.now, act.wakeAt as number);
    }
  }
}

test('in generated sources every demand ends, none starves, and no two readings overlap', () => {
  fc.assert(
    fc.property(anySource, source => playToTheEnd(source)),
    { numRuns: 300 },
  );
});

test('however short the window, what was seen of the limit is used before it is looked at again', () => {
  fc.assert(
    fc.property(anySource, source => {
      let last: Act['kind'] | null = null;
      playToTheEnd(source, (_, { kind }) => {
        expect([last, kind]).not.toEqual(['look at the limit', 'look at the limit']);
        last = kind;
      });
    }),
    { numRuns: 300 },
  );
});

test('a look at the limit is as old as its answer', async () => {
  const clock = manualClock(NOW);
  const forecast = async () => {
    clock.advance(20 * SECOND);
    return wholeLimit(10, HOUR);
  };
  const engine = { clock, forecast, limit: 10, windowMs: HOUR, granted: () => 3 };
  expect(await lookAtLimit(engine, NOW + 7)).toMatchObject({ at: NOW + 7 + 20 * SECOND, granted: 3 });
});

test('a lower lane starts nothing on a list where a live demand waits for what is being read', () => {
  fc.assert(
    fc.property(anySource, source =>
      playToTheEnd(source, (play, act) => {
        if (act.kind !== 'ask' || act.task.lane === 'live') return;
        const { resource, lane } = act.task;
        const isStopped = play.readings.some(
          ({ task, underWay }) =>
            task.resource === resource && rankOf(task.lane) >= rankOf(lane) && underWay.stopAsking.signal.aborted,
        );
        expect(isStopped).toBe(false);
      }),
    ),
    { numRuns: 300 },
  );
});

test('lower lanes that hold all places keep nothing of the agenda waiting that one more place would let through', () => {
  let asked = 0;
  fc.assert(
    fc.property(anySource, source =>
      playToTheEnd({ ...source, asks: true }, play => {
        const state = play.state();
        const { concurrency } = state.rules;
        if (play.readings.length !== concurrency || play.readings.some(({ task }) => task.lane === 'live')) return;
        const roomy = next({ ...state, rules: { ...state.rules, concurrency: concurrency + 1 } });
        const isOfAgenda = 'task' in roomy ? roomy.task.kind === 'agenda' : /limit|follow/.test(roomy.kind);
        if (!isOfAgenda) return;
        asked++;
        expect(next(state).kind).toBe(roomy.kind);
      }),
    ),
    { numRuns: 300 },
  );
  expect(asked).toBeGreaterThan(0);
});

test('what is decided depends on nothing but the state, and changes none of it', () => {
  fc.assert(
    fc.property(anySource, source => {
      const play = new Play(source);
      play.limit = { forecast: wholeLimit(source.limit, HOUR), at: NOW, granted: 0 };
      const shown = (act: Act) =>
        JSON.stringify(act.kind === 'ask' ? [act.task.runId, sliceText(act.choice.slice)] : act.kind);
      const first = shown(next(play.state()));
      expect(shown(next(play.state()))).toBe(first);
    }),
    { numRuns: 500 },
  );
});

test('a row that somebody waits for is read before the rest of a whole list, and ends beside its readings', () => {
  const { list } = fc
    .sample(anyFacts, { seed: 1, numRuns: 300 })
    .find(facts => facts.list.strategy.partition === 'date' && partition(facts.list).length > 3) as PlanFacts;
  const resource = listOf(
    { ...list, profile: profileOf([]), strategy: strategyFor(profileOf([]), list.job) },
    [],
    'list',
  );
  const refresh = (since: number, target: Slice) => {
    const given = { kind: 'refresh', resource, runId: sliceText(target), orderId: null, lane: 'live' } as const;
    const bounds = { from: null, to: null, reportOnly: false };
    return createTask({ ...given, ...bounds, since }, { allowance: 0, targets: [target] });
  };
  const play = new Play({ facts: [], more: [], concurrency: 2, asks: false, limit: 1000, windowMs: HOUR, picks: [] });
  const [whole, record] = [refresh(NOW, wholeTime), refresh(NOW + SECOND, { by: 'one', key: '1' })];
  const askNext = () => {
    const act = next(play.state());
    if (act.kind !== 'wait') play.carryOut(act);
    return act.kind === 'ask' ? act.task.runId : act.kind;
  };
  play.tasks.push(whole);
  expect(askNext()).toBe(whole.runId);
  play.tasks.push(record);
  // It came first, and has had little.
  expect(askNext()).toBe(whole.runId);
  whole.counts.requests = 3;
  play.end(0);
  expect(askNext()).toBe('wait');
  play.end(0);
  expect([askNext(), askNext()]).toEqual([record.runId, 'wait']);
  play.end(0);
  const other: Slice = { by: 'one', key: '2' };
  resource.reading.add(other);
  expect(askNext()).toBe('end');
  resource.reading.delete(other);
  expect(askNext()).toBe(whole.runId);
});

test('a task that an error closed ends, whatever has to be looked up for its list', () => {
  fc.assert(
    fc.property(anySource, source => {
      const play = new Play(source);
      const [task] = play.tasks as [Task];
      update(task, { kind: 'closed', why: 'broken' });
      task.resource.missing = null;
      const act = next({ ...play.state(), tasks: [task] });
      expect([act.kind, 'task' in act && act.task]).toEqual(['end', task]);
    }),
  );
});
