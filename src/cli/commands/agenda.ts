import type { Command } from 'commander';
import type { SourceConfig } from '../../config/config.ts';
import { needsOf } from '../../engine/agenda/list-facts.ts';
import { readAgenda } from '../../engine/run/read-agenda.ts';
import { count, durationText } from '../../service/format.ts';
import { nextQuestions } from '../../service/status/next-questions.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { wrappedTable } from '../output/table.ts';
import { isWithoutWarehouse, listPending, pendingText } from '../run/pending-migrations.ts';
import { describeTargets, TARGET_NEXT } from '../run/targets.ts';
import { type Cli, newCommand, type Session } from '../session/session.ts';
import { isServiceRunning, readUsage, watchedSource } from '../session/source-settings.ts';

const MOST = 20;

export function command(cli: Cli): Command {
  return newCommand('agenda', 'sluice agenda\nsluice agenda --source vienna\nsluice agenda --json').action(
    cli.action({ source: false }, showAgenda),
  );
}

async function showAgenda(session: Session): Promise<0> {
  const { terminal, settings } = session;
  if (await isWithoutWarehouse(session)) {
    terminal.show({ database: null }, () => 'There is no warehouse yet. Create one: sluice sync');
    return 0;
  }
  const database = await session.openDatabase();
  const pending = await listPending(session, database);
  if (pending.length > 0) {
    terminal.show(
      { pending },
      () => `Pending migrations: ${pendingText(pending)}.\nNext: sluice sync, which migrates first`,
    );
    return 0;
  }
  const agendas: SourceAgenda[] = [];
  for (const source of settings.sources) agendas.push(await readSource(session, database, source));
  const [only] = agendas;
  terminal.show(agendas.length === 1 ? only : { sources: agendas }, () =>
    agendas.map(each => draw(session, each)).join('\n\n'),
  );
  return 0;
}

type SourceAgenda = Awaited<ReturnType<typeof readSource>>;

async function readSource({ jobs }: Session, database: Database, source: SourceConfig) {
  const usage = await readUsage(database, source);
  const watched = watchedSource(source, jobs);
  const { name, schema, scheduled } = watched;
  const rules = { ...watched.rules, limit: usage?.limit ?? source.limit };
  const facts = await readAgenda(database, { name, jobs, scheduled, rules }, schema);
  const next = nextQuestions(facts, MOST);
  return {
    source: name,
    service: await isServiceRunning(database, name),
    pace: 'even',
    secondsPerRequest: rules.windowMs / rules.limit / 1000,
    limit: rules.limit,
    used: usage?.used ?? null,
    ...next,
    off: [...jobs.keys()].filter(resource => !scheduled.includes(resource)),
    targets: describeTargets(rules, needsOf(rules, facts)),
  };
}

function draw(session: Session, agenda: SourceAgenda): string {
  const { colors } = session.terminal;
  const { source, service, questions, more, unread, off, targets } = agenda;
  const several = session.settings.sources.length > 1;
  const lines = [...(several ? [`${colors.bold('Source')}  ${source}`] : []), paceLine(agenda), ''];
  if (questions.length > 0) lines.push(drawQuestions(session, agenda));
  else lines.push('Nothing is on the agenda yet: it lists what was read in full at least once.');
  if (more > 0) lines.push('', `${count(more)} more questions follow.`);
  if (unread.length > 0) lines.push('', `Never read in full: ${unread.join(', ')}. Next: sluice sync`);
  if (off.length > 0) lines.push('', `Not on the agenda, because the schedule is off: ${off.join(', ')}.`);
  if (targets.length > 0) lines.push('', ...targets.map(({ text }) => `Target: ${text}.`));
  if (targets.some(({ feasible }) => feasible === false)) lines.push(TARGET_NEXT);
  if (!service) lines.push('', 'No service is running, so nothing is asked until: sluice start');
  return lines.join('\n');
}

/** `1 request every 3.6 s; 412 of 1,000 used in this window`. */
function paceLine({ secondsPerRequest, limit, used }: SourceAgenda): string {
  const spending = `1 request every ${significant(secondsPerRequest)} s`;
  return used === null ? spending : `${spending}; ${count(used)} of ${count(limit)} used in this window`;
}

function drawQuestions({ terminal: { colors } }: Session, { questions }: SourceAgenda): string {
  const head = ['resource', 'question', 'changes/h', 'age', 'cost', 'score', 'why'];
  const rows = questions.map(each => [
    each.resource,
    each.question,
    significant(each.changesAnHour),
    durationText(each.ageSeconds),
    significant(each.requests),
    each.overdue ? 'overdue' : scoreText(each.score),
    each.why,
  ]);
  return wrappedTable(colors, head, rows, [2, 4, 5]);
}

/** A question that was answered a moment ago has a score near 0, which still tells it from others. */
const scoreText = (score: number): string =>
  score < 0.001 ? score.toExponential(1).replace('.0e', 'e') : significant(score);

/** Two or three digits that matter, without an exponent. */
function significant(value: number): string {
  if (value >= 100) return count(Math.round(value));
  if (value !== 0 && value < 0.001) return '<0.001';
  return String(Number(value.toPrecision(2)));
}
