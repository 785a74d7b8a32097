// Measures how fast Sluice fills an empty warehouse and reads it again, without a request limit, compared with `copy` of the
// same rows and with one `insert .. on conflict` per row. Linux only.
//   npm run build && npx tsx bench/load.ts [--records 450000] [--pages 1000,100] [--runs 3] [--sample 10000] [--json]
// Each figure is the median of `--runs`, each with an empty Postgres. `--sample` is how many records are inserted row by row.
import { parseArgs } from 'node:util';
import { type LoadFigures, measureLoad } from './load/measure-load.ts';
import { medians } from './support/median.ts';
import { pageSize } from './support/options.ts';
import { figure, print, progress } from './support/print.ts';

const { values: given } = parseArgs({
  options: {
    records: { type: 'string', default: '450000' },
    pages: { type: 'string', default: '1000,100' },
    runs: { type: 'string', default: '3' },
    sample: { type: 'string', default: '10000' },
    json: { type: 'boolean', default: false },
  },
});

const LINES: readonly (readonly [what: string, of: keyof LoadFigures, decimals: number])[] = [
  ['records', 'records', 0],
  ['copy, records/s (the limit)', 'copyPerSecond', 0],
  ['one insert per row, records/s (the baseline)', 'rowsPerSecond', 0],
  ['first load, records/s', 'loadPerSecond', 0],
  ['  compared with copy', 'loadToCopy', 2],
  ['  compared with one insert per row', 'loadToRows', 2],
  ['  speed of the last tenth, compared with the first', 'lastToFirst', 2],
  ['unchanged re-read, records/s', 'rereadPerSecond', 0],
  ['  time, compared with the first load', 'rereadToLoad', 2],
  ['re-read of 1% changed rows: time, compared with unchanged', 'changedToReread', 2],
  ['WAL, MB per million records: copy', 'copyWal', 1],
  ['  first load', 'loadWal', 1],
  ['  unchanged re-read', 'rereadWal', 1],
  ['  re-read of 1% changed rows', 'changedWal', 1],
  ['peak memory, MB: first load', 'loadPeakMb', 0],
  ['  unchanged re-read', 'rereadPeakMb', 0],
];

const measured: { page: string; medians: LoadFigures; runs: LoadFigures[] }[] = [];
for (const page of given.pages.split(',').map(pageSize)) {
  const runs: LoadFigures[] = [];
  for (let run = 1; run <= Number(given.runs); run++) {
    runs.push(await measureLoad({ records: Number(given.records), page, sample: Number(given.sample) }));
    progress(`${page} rows a page, run ${run}: ${figure(runs.at(-1)?.loadPerSecond ?? 0)} records/s`);
  }
  measured.push({ page, medians: medians(runs), runs });
}
print({
  json: given.json,
  document: measured,
  head: ['rows a page', ...measured.map(({ page }) => page)],
  rows: LINES.map(([what, of, decimals]) => [what, ...measured.map(each => figure(each.medians[of], decimals))]),
});
