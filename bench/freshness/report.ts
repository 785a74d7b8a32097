import Table from 'cli-table3';
import { type Figures, figuresOf } from './figures.ts';
import { byList, KINDS, LISTS, SIZES, type SizeName, type StreamParameters } from './parameters.ts';
import type { Result } from './simulate.ts';
import { flowsOf } from './stream/flows.ts';
import type { Phase } from './stream/habits.ts';
import type { Change } from './stream/stream.ts';

/** What one policy reached on a stream. */
export interface Measured {
  readonly policy: string;
  readonly result: Result;
}

export interface Measurement {
  readonly size: SizeName;
  readonly days: number;
  readonly seed: number;
  /** Mean delay in hours of the best static policy for known rates, by formula. */
  readonly optimum: number;
  readonly measured: readonly Measured[];
  /** The one that the others are compared with. */
  readonly best: Measured;
  /** Present if the stream changes its habits. */
  readonly phases?: readonly Phase[];
  readonly measuredFromMs: number;
}

type Group = { readonly name: string; readonly holds: (change: Change) => boolean };

export interface Line {
  readonly of: string;
  readonly figures: Figures;
  /** Mean delay divided by that of the best static policy. */
  readonly ratio: number;
}

/** One line for each kind of change or, with changes of habits, for each phase; then one for all. */
export function linesOf({ best, phases, measuredFromMs }: Measurement, { result }: Measured): Line[] {
  const groups: Group[] = phases
    ? phases.map(({ name, fromMs, toMs }) => ({
        name,
        holds: ({ at }) => at >= measuredFromMs + fromMs && at < measuredFromMs + toMs,
      }))
    : [
        ...KINDS.map((kind): Group => ({ name: kind, holds: change => change.kind === kind })),
        { name: 'all but deleted', holds: ({ kind }) => kind !== 'deleted' },
      ];
  return [...groups, { name: 'all', holds: () => true }].map(({ name, holds }) => {
    const [figures, least] = [result, best.result].map(({ outcomes, endMs }) =>
      figuresOf(
        outcomes.filter(({ change }) => holds(change)),
        endMs,
      ),
    ) as [Figures, Figures];
    return { of: name, figures, ratio: figures.mean / least.mean };
  });
}

/** The rates that follow from the parameters. */
export function describeStream(size: SizeName, parameters: StreamParameters): string {
  const counts = SIZES[size];
  const flows = flowsOf(counts, parameters);
  const perHour = byList(list => flows.filter(flow => flow.list === list));
  const table = new Table({ head: ['list', 'rows', ...KINDS], style: PLAIN });
  for (const list of LISTS)
    table.push([
      list,
      counts[list],
      ...KINDS.map(kind => number(perHour[list].find(flow => flow.kind === kind)?.perHour ?? 0)),
    ]);
  return `Changes an hour\n${table.toString()}`;
}

export function describeParameters({ lists, ...common }: StreamParameters): string {
  const table = new Table({ head: ['list', ...Object.keys(lists.customers)], style: PLAIN });
  for (const list of LISTS) table.push([list, ...Object.values(lists[list])]);
  const names = Object.entries(common).map(([name, value]) => `${name} ${value}`);
  return `${names.join(', ')}\n${table.toString()}`;
}

export function describeMeasurement(measurement: Measurement): string {
  const { size, days, seed, optimum, measured, best, phases } = measurement;
  const simulated = linesOf(measurement, best).at(-1)?.figures.mean ?? Number.NaN;
  const heading = [
    `${size}, ${days} days, seed ${seed}. Delays in hours.`,
    ...(phases ? [] : [`Optimum by formula ${number(optimum)}, simulated ${number(simulated)}.`]),
  ];
  const tables = measured.map(each => {
    const { requests } = each.result;
    const title = `${each.policy} (${Math.round(requests / (days * 24))} requests an hour)`;
    const head = [phases ? 'phase' : 'kind', 'n', 'mean', 'median', '99%', 'worst', 'unseen', 'x optimum'];
    const table = new Table({ head, style: PLAIN });
    for (const { of, figures, ratio } of linesOf(measurement, each)) table.push(rowOf(of, figures, ratio));
    return `${title}\n${table.toString()}`;
  });
  return [heading.join(' '), ...tables].join('\n');
}

const PLAIN = { head: [], border: [], compact: true };

function rowOf(of: string, { n, mean, median, p99, worst, unseen }: Figures, ratio: number): (string | number)[] {
  const atLeast = unseen > 0 ? '> ' : '';
  return [
    of,
    n,
    `${atLeast}${number(mean)}`,
    ...[median, p99, worst].map(number),
    unseen,
    `${atLeast}${number(ratio)}`,
  ];
}

/** Three significant digits, or one decimal. */
function number(value: number): string {
  if (!Number.isFinite(value)) return '-';
  return value === 0 ? '0' : value >= 10 ? value.toFixed(1) : value.toPrecision(3);
}
