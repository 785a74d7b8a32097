import type { Command } from 'commander';
import { valueText } from '../../service/format.ts';
import { changedFields, type RecordStory, readStory, recordVerdict } from '../../service/record/record-story.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { momentWithZone } from '../output/moments.ts';
import { openToRead } from '../run/pending-migrations.ts';
import { type Cli, listOf, newCommand, type Session } from '../session/session.ts';

const EXAMPLES = `sluice why invoices 4711
sluice why customers 17 --json`;

export function command(cli: Cli): Command {
  return newCommand('why', EXAMPLES)
    .argument('<resource>', 'the list that it belongs to')
    .argument('<key>', 'its id, or what its table shows as _key')
    .action(cli.action({ source: false }, why));
}

async function why(session: Session, name: string, key: string): Promise<0 | 1> {
  const { terminal, settings } = session;
  const list = listOf(session, name);
  const { timeZone } = settings.single;
  const database = await openToRead(session);
  const story = await readStory(database, list, key);
  const now = await databaseNow(database);
  terminal.show(story, () => {
    const { text, rest } = recordVerdict(story, now);
    return [terminal.colors.bold(text), rest, ...sections(story, at => momentWithZone(at, timeZone))].join('\n');
  });
  return story.state === 'unknown' ? 1 : 0;
}

function sections({ current, children, ended }: RecordStory, at: (at: number) => string): string[] {
  const lines: string[] = [];
  if (current !== null) {
    const { since, readAt, arrival, row } = current;
    const run = arrival.runId === null ? 'a run that is no longer kept' : `run ${arrival.runId} (${arrival.kind})`;
    const asked = arrival.purpose === null ? '' : `, which asked for ${arrival.purpose}`;
    lines.push('', `Current version since ${at(since)}`, `  brought by ${run}${asked}; request granted ${at(readAt)}`);
    const [before] = ended;
    const changes = before?.endedBy === 'changed' ? changedFields(before.row, row) : [];
    for (const { field, before: old, after } of changes)
      lines.push(`  ${field}: ${valueText(old)} -> ${valueText(after)}`);
    lines.push('', ...Object.entries(row).map(([name, value]) => `  ${name}  ${valueText(value)}`));
  }
  for (const [field, rows] of Object.entries(children)) {
    lines.push('', `${field}: ${rows.length}`);
    for (const row of rows)
      lines.push(
        `  ${Object.entries(row)
          .filter(([name]) => !name.startsWith('_'))
          .map(([name, value]) => `${name} ${valueText(value)}`)
          .join(', ')}`,
      );
  }
  for (const { from, to, endedBy, runId } of ended)
    lines.push('', `Version from ${at(from)} to ${at(to)}: ${endedBy}${runId === null ? '' : ` by run ${runId}`}`);
  return lines;
}
