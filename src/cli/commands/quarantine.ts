import type { Command } from 'commander';
import { moment, plural } from '../../service/format.ts';
import { countCleaned, listQuarantine } from '../../warehouse/rows/quarantine.ts';
import { zoneNote } from '../output/moments.ts';
import { table } from '../output/table.ts';
import { hasBookkeeping } from '../run/pending-migrations.ts';
import { type Cli, newCommand, type Session } from '../session/session.ts';

const MOST = 1000;

export function command(cli: Cli): Command {
  return newCommand(
    'quarantine',
    'sluice quarantine\nsluice quarantine --json   include the records themselves',
  ).action(cli.action({ source: false }, showQuarantine));
}

async function showQuarantine(session: Session): Promise<0> {
  const { terminal, settings, jobs } = session;
  const { name: source, schema, timeZone } = settings.single;
  const database = await session.openDatabase();
  const hasRecords = await hasBookkeeping(session, database);
  const records = hasRecords ? await listQuarantine(database.kysely, source, MOST) : [];
  const tables = [...jobs].flatMap(([name, job]) => [name, ...Object.values(job.children).map(({ table }) => table)]);
  const cleaned = await countCleaned(database.kysely, schema, tables);
  terminal.show({ records, cleaned }, () => {
    const cleanedLines = cleaned.map(
      ({ table, rows }) =>
        `${plural(rows, 'row')} of ${table} contained characters that Postgres cannot store: see _extra->'(cleaned)'.`,
    );
    if (records.length === 0) return ['The quarantine is empty.', ...cleanedLines].join('\n');
    const rows = records.map(record => [
      record.resource,
      record.key,
      Object.entries(record.reasons).map(([field, reason]) => `${field}: ${reason}`),
      moment(record.lastSeen, timeZone),
      record.attempts,
    ]);
    const head = ['resource', 'key', 'reasons', 'last seen', 'readings'];
    return [
      table(terminal.colors, head, rows, { right: [4], wrap: { 2: 40 } }),
      '',
      `A record leaves the quarantine when the source corrects or removes it. ${zoneNote(timeZone)}`,
      ...(records.length === MOST ? [`Only the newest ${plural(MOST, 'record')} are shown; there may be more.`] : []),
      ...cleanedLines,
    ].join('\n');
  });
  return 0;
}
