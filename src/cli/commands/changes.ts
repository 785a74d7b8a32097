import type { Command } from 'commander';
import { SECOND } from '../../clock.ts';
import { moment } from '../../service/format.ts';
import type { Format } from '../../service/query/csv.ts';
import { changesQuery, readNumbers } from '../../warehouse/reports/changes.ts';
import { readQuery } from '../../warehouse/reports/read-query.ts';
import { zoneNote } from '../output/moments.ts';
import { ndjson } from '../output/query-formats.ts';
import { openToRead } from '../run/pending-migrations.ts';
import { parseChangeNumber, refuseFrom } from '../session/change-numbers.ts';
import { type Cli, duration, newCommand, openQueryLogin, type Session, selectResources } from '../session/session.ts';

const EXAMPLES = `sluice changes                      the newest 20
sluice changes invoices --follow    new ones as they are found
sluice changes --since 24h
sluice changes --from 4711 --json   all from a number on, one JSON object a line
sluice changes --where "kind = 'updated' and after->>'status' = 'Paid'"`;

const COMMAND = 'sluice changes';
const NEWEST = 20;
const LOOK_EVERY_MS = SECOND;

interface Options {
  readonly from?: number;
  /** Milliseconds. */
  readonly since?: number;
  readonly where?: string;
  readonly follow?: boolean;
}

export function command(cli: Cli): Command {
  return newCommand('changes', EXAMPLES)
    .argument('[resource]', 'one list')
    .option('--from <number>', `all from this number on (default: the newest ${NEWEST})`, parseChangeNumber)
    .option('--since <age>', 'all seen within this time, such as 30m, 24h or 7d', duration('--since'))
    .option('--where <condition>', 'only changes for which this SQL condition on the view "changes" is true')
    .option('--follow', 'print more as they come')
    .action(cli.action({ source: false }, showChanges));
}

async function showChanges(session: Session, resource: string | undefined, options: Options): Promise<0> {
  const { terminal, settings, jobs, signal, clock } = session;
  const { schema, timeZone } = settings.single;
  if (resource !== undefined) selectResources(jobs, [resource]);
  await openToRead(session);
  const database = await openQueryLogin(session);
  const numbers = await readNumbers(database, schema);
  const { last } = numbers;
  const { from, since, where, follow = false } = options;
  if (from !== undefined) refuseFrom(numbers, from, COMMAND);
  const format = terminal.json ? ndjson() : lines(timeZone);
  const print = async (between: Parameters<typeof changesQuery>[0]) => {
    const query = changesQuery({ ...between, resource, where, isText: !terminal.json });
    await readQuery(database, { query, schema, timeoutMs: 0, signal }, (columns, rows) =>
      terminal.write(format.write(columns, rows)),
    );
    // Those that were no longer kept when they were read are missing above.
    if (between.from !== undefined) refuseFrom(await readNumbers(database, schema), between.from, COMMAND);
  };
  const isNewest = from === undefined && since === undefined;
  await print({ ...(isNewest ? { newest: NEWEST } : { from, since }), to: last });
  if (!follow) {
    if (!terminal.json)
      terminal.note(last === 0 ? 'Nothing has changed since the lists were first read.' : zoneNote(timeZone));
    return 0;
  }
  for (let next = Math.max(last + 1, from ?? 0); ; ) {
    await clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined);
    if (signal.aborted || terminal.closed) return 0;
    // Numbers follow the order of commits, so all up to the last can be seen.
    const now = await readNumbers(database, schema);
    const { last: to } = now;
    refuseFrom(now, next, COMMAND);
    if (to < next) continue;
    await print({ from: next, to });
    next = to + 1;
  }
}

/** `4711  2026-01-15 10:02:11  invoices 17 updated  status: Unpaid -> Paid`. */
const lines = (timeZone: string): Format => ({
  write: (_columns, rows) =>
    rows
      .map(
        ([number, seenAt = null, what, change]) =>
          `${number}  ${moment(seenAt, timeZone)}  ${what}${change ? `  ${change}` : ''}\n`,
      )
      .join(''),
  end: () => '',
});
