// Measures what a request costs at 100 rows a page: statements and transactions in Postgres, CPU time of Sluice and of
// Postgres; for a first load without a limit and for a service that is paced by its limit. Compared with a connector
// without bookkeeping that upserts each page, or each row, with one statement. Linux only.
//   npm run build && npx tsx bench/requests.ts [--records 90000] [--rate 5] [--warm 30] [--seconds 120] [--runs 3] [--json]
// Each figure is the median of `--runs`. `--rate`: requests a second of the service. It runs for `--warm` seconds before it
// is measured for `--seconds`.
import { parseArgs } from 'node:util';
import { measureRequests, type Phase, type RequestFigures } from './requests/measure-requests.ts';
import { medians } from './support/median.ts';
import { figure, print, progress } from './support/print.ts';

const { values: given } = parseArgs({
  options: {
    records: { type: 'string', default: '90000' },
    rate: { type: 'string', default: '5' },
    warm: { type: 'string', default: '30' },
    seconds: { type: 'string', default: '120' },
    runs: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
  },
});

const COLUMNS: readonly (readonly [title: string, phase: Phase])[] = [
  ['first\nload', 'load'],
  ['service', 'service'],
  ['one statement\nper page\n(the limit)', 'perPage'],
  ['one insert\nper row\n(baseline)', 'perRow'],
];
const LINES: readonly (readonly [what: string, of: keyof RequestFigures, decimals: number])[] = [
  ['requests', 'requests', 0],
  ['requests a second', 'requestsPerSecond', 1],
  ['SQL statements per request', 'statements', 1],
  ['transactions per request', 'commits', 2],
  ['CPU of the client, ms per request', 'clientCpuMs', 2],
  ['CPU of Postgres, ms per request', 'postgresCpuMs', 2],
];

const runs: Record<Phase, RequestFigures>[] = [];
for (let run = 1; run <= Number(given.runs); run++) {
  runs.push(
    await measureRequests({
      records: Number(given.records),
      perSecond: Number(given.rate),
      warmSeconds: Number(given.warm),
      seconds: Number(given.seconds),
    }),
  );
  progress(`run ${run}: ${figure(runs.at(-1)?.service.statements ?? 0, 1)} statements per request of the service`);
}
const middle = COLUMNS.map(([, phase]) => medians(runs.map(run => run[phase])));
print({
  json: given.json,
  document: { medians: Object.fromEntries(COLUMNS.map(([, phase], index) => [phase, middle[index]])), runs },
  head: ['per request', ...COLUMNS.map(([title]) => title)],
  rows: LINES.map(([what, of, decimals]) => [what, ...middle.map(each => figure(each[of], decimals))]),
});
