// Measures the request limit under full load, against servers that count by fixed or sliding windows or a token bucket.
//   npx tsx bench/budget.ts [--quick]
// Four real processes at 50 requests per 10 s, killed and restarted; then hours at 1000 per hour on an injected clock,
// with a schedule and an endless backfill. Exit code 1 if a bound is broken.
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import { SECOND } from '../src/clock.ts';
import { openServer } from '../test/simulation/play/server.ts';
import { CONCURRENCY, type Figures, PROCESSES } from './budget-figures.ts';
import { saturateForHours } from './budget-hours.ts';
import { saturateByProcesses } from './budget-processes.ts';

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const length = values.quick ? { ms: 20 * SECOND, kills: 4, hours: 2 } : { ms: 60 * SECOND, kills: 8, hours: 3 };

const LEAST_SHARE = 0.99;
const MOST_WASTED = 2 * CONCURRENCY;
/** Requests that all processes together may have requested from the ledger when the wish was made. */
const MOST_PASSED = PROCESSES * CONCURRENCY;

const HEAD = [
  'limit',
  'server counts by',
  'requests',
  'over the limit',
  '429',
  'share used',
  'wasted by a kill',
  'passed by other lanes: a live request',
  'a tick, to its first request',
];
const broken: string[] = [];
const table = new Table({ head: HEAD, style: { head: [], border: [] } });

const server = await openServer();
try {
  for (const window of ['fixed', 'sliding', 'token-bucket'] as const) {
    const short = await saturateByProcesses(server, window, length);
    add(`50 / 10 s, ${PROCESSES} processes`, window, short);
    const long = await saturateForHours(server, window, length.hours);
    add('1000 / 3600 s, injected clock', window, long);
    if (long.share < LEAST_SHARE) broken.push(`${window}: only ${percent(long.share)} of the long window was used`);
  }
} finally {
  await server.close();
}
console.log(table.toString());
for (const each of broken) console.log(`BROKEN ${each}`);
if (broken.length > 0) process.exitCode = 1;

function add(limit: string, window: string, figures: Figures): void {
  const { requests, over, rejected, share, wasted, passed, passedTicks } = figures;
  const row = [limit, window, requests, over, rejected, percent(share), ...[wasted, passed, passedTicks].map(spread)];
  table.push(row);
  // Each row takes minutes.
  process.stderr.write(`${row.join(' | ')}\n`);
  const most = (each: readonly number[], bound: number, what: string) => {
    const worst = Math.max(0, ...each);
    if (worst > bound) broken.push(`${limit}, ${window}: ${worst} ${what}, at most ${bound} are allowed`);
  };
  most([over], 0, 'requests over the limit');
  most([rejected], 0, 'requests rejected with 429');
  most(wasted, MOST_WASTED, 'requests wasted by one kill');
  most(passed, MOST_PASSED, 'requests of other lanes granted while a live one waited');
  most(passedTicks, MOST_PASSED, 'requests of other lanes granted between a tick and its first request');
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)}%`;
}

/** Median and maximum. */
function spread(each: readonly number[]): string {
  if (each.length === 0) return '';
  const sorted = [...each].sort((a, b) => a - b);
  return `${sorted[Math.floor(sorted.length / 2)]}, at most ${sorted.at(-1)} (of ${each.length})`;
}
