import type { Command } from 'commander';
import { moment, plural } from '../../service/format.ts';
import { countCleaned, listQuarantine } from '../../warehouse/rows/quarantine.ts';
import { type Cli, newCommand } from '../cli.ts';
import { table } from '../output/table.ts';
import { timesIn } from '../output/zoned.ts';
import { hasBookkeeping } from '../run/pending-migrations.ts';

const MOST = 1000;

export function quarantineCommand(cli: Cli): Command {
  return newCommand(
    'quarantine',
    'Records that did not parse: kept whole, tried again at the next reading',
    'sluice quarantine\nsluice quarantine --json   with the records themselves',
  ).action(
    cli.action({ source: false }, async session => {
      const { terminal, settings } = session;
      const database = await session.openDatabase();
      const known = await hasBookkeeping(session, database);
      const records = known ? await listQuarantine(database.kysely, settings.sourceName, MOST) : [];
      const tables = [...session.jobs].flatMap(([name, job]) => [
        name,
        ...Object.values(job.children).map(({ table }) => table),
      ]);
      const cleaned = await countCleaned(database.kysely, settings.schema, tables);
      terminal.show({ records, cleaned }, () => {
        const told = cleaned.map(
          ({ table, rows }) =>
            `\n${plural(rows, 'row')} of ${table} had characters that cannot be stored: see _extra->'(cleaned)'.`,
        );
        if (records.length === 0) return `Nothing is in quarantine.${told.join('')}`;
        const rows = records.map(record => [
          record.resource,
          record.key,
          Object.entries(record.reasons)
            .map(([field, reason]) => `${field}: ${reason}`)
            .join('\n'),
          moment(record.lastSeen, settings.timeZone),
          record.attempts,
        ]);
        const head = ['resource', 'key', 'reasons', 'last seen', 'readings'];
        const drawn = table(terminal.colors, head, rows, { right: [4], wrap: { 2: 40 } });
        const leaves = 'A record leaves quarantine by itself once the source sends it right, or no longer shows it.';
        const cut =
          records.length === MOST ? `\nThese are the newest ${plural(MOST, 'record')}; there may be more.` : '';
        return `${drawn}\n\n${leaves} ${timesIn(settings.timeZone)}${cut}${told.join('')}`;
      });
      return 0;
    }),
  );
}
