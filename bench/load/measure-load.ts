import { openPostgres, type Postgres } from '../support/open-postgres.ts';
import { countsOf, openSource, type Source } from '../support/open-source.ts';
import { type CommandRun, environmentOf, runSluice, total } from '../support/run-sluice.ts';
import { measureTenths } from './measure-tenths.ts';
import { timeCopy } from './time-copy.ts';
import { timeRows } from './time-rows.ts';

/** Records are those of lists; the items of invoices and quotes are stored with them and not counted. */
export interface LoadFigures {
  readonly records: number;
  readonly copyPerSecond: number;
  readonly rowsPerSecond: number;
  readonly loadPerSecond: number;
  readonly loadToCopy: number;
  readonly loadToRows: number;
  /** Speed of the last tenth of the first load, compared with its first tenth. */
  readonly lastToFirst: number;
  readonly rereadPerSecond: number;
  /** Time of an unchanged re-read, compared with the first load. */
  readonly rereadToLoad: number;
  /** Time of a re-read after 1% of the rows changed, compared with an unchanged re-read. */
  readonly changedToReread: number;
  /** MB of WAL per million records. */
  readonly copyWal: number;
  readonly loadWal: number;
  readonly rereadWal: number;
  readonly changedWal: number;
  readonly loadPeakMb: number;
  readonly rereadPeakMb: number;
}

const CHANGED_OF = 100;

/** One run: an empty warehouse, the first load, and what it is compared with. */
export async function measureLoad(options: {
  records: number;
  page: '100' | '1000';
  sample: number;
}): Promise<LoadFigures> {
  const { page } = options;
  const source = await openSource({ size: countsOf(options.records), page });
  try {
    const postgres = await openPostgres();
    try {
      return await measure(postgres, source, { page: Number(page), sample: options.sample });
    } finally {
      await postgres.close();
    }
  } finally {
    await source.close();
  }
}

async function measure(
  postgres: Postgres,
  source: Source,
  { page, sample }: { page: number; sample: number },
): Promise<LoadFigures> {
  const { database } = postgres;
  const environment = environmentOf(source, postgres.url);
  await runSluice(['migrate'], environment);
  const load = await sync([], environment, postgres);
  const records = total(load.run, 'new');
  const tenths = await measureTenths(database);
  const reread = await sync(['--full'], environment, postgres);
  expect(total(reread.run, 'unchanged') >= records && total(reread.run, 'changed') === 0, 'an unchanged re-read');
  const changed = await source.changeRows(CHANGED_OF);
  const again = await sync(['--full'], environment, postgres);
  expect(total(again.run, 'changed') === changed, `a re-read that finds ${changed} changes`);
  const copy = await timeCopy(postgres);
  const rows = await timeRows(database, { page, most: sample });

  const perSecond = (ms: number, count = records) => (count / ms) * 1000;
  const wal = ({ walBytes }: { walBytes: number }) => walBytes / records;
  const loadPerSecond = perSecond(load.run.ms);
  const copyPerSecond = perSecond(copy.ms);
  const rowsPerSecond = perSecond(rows.ms, rows.records);
  return {
    records,
    copyPerSecond,
    rowsPerSecond,
    loadPerSecond,
    loadToCopy: loadPerSecond / copyPerSecond,
    loadToRows: loadPerSecond / rowsPerSecond,
    lastToFirst: tenths.last / tenths.first,
    rereadPerSecond: perSecond(reread.run.ms),
    rereadToLoad: reread.run.ms / load.run.ms,
    changedToReread: again.run.ms / reread.run.ms,
    copyWal: wal(copy),
    loadWal: wal(load),
    rereadWal: wal(reread),
    changedWal: wal(again),
    loadPeakMb: load.run.peakMb,
    rereadPeakMb: reread.run.peakMb,
  };
}

async function sync(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  { admin, walBytes }: Postgres,
): Promise<{ run: CommandRun; walBytes: number }> {
  await admin.query('checkpoint');
  const before = await walBytes();
  const run = await runSluice(['sync', ...args], environment);
  expect(run.exit === 0, `sync ${args.join(' ')} to succeed`);
  return { run, walBytes: (await walBytes()) - before };
}

/** Figures of a run that did something else would be compared in vain. */
function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`Expected ${what}.`);
}
