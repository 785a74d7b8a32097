import type { Command } from 'commander';
import { createMemoryBudget } from '../../budget/memory-budget.ts';
import { SluiceError } from '../../errors.ts';
import { budgetLine } from '../../service/words.ts';
import { type Client, openClient } from '../../source/client.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { readTraits, type Trait } from '../../warehouse/ledgers/traits.ts';
import { serverVersion } from '../../warehouse/reports/report.ts';
import { type Cli, newCommand, type Session } from '../cli.ts';
import { habits } from '../output/describe-profile.ts';
import { table } from '../output/table.ts';
import { zoned } from '../output/zoned.ts';
import { pendingText, whatIsPending } from '../run/pending-migrations.ts';
import { type NamedSource, openLedger, type SourceSettings } from '../source-settings.ts';

interface Check {
  readonly check: string;
  readonly ok: boolean;
  readonly found: string;
  readonly next?: string | undefined;
}

export function doctorCommand(cli: Cli): Command {
  return newCommand(
    'doctor',
    'Check settings, database and source; at most one request to each source',
    'sluice doctor',
  ).action(
    cli.action({ source: false }, async session => {
      const { terminal, settings } = session;
      const checks: Check[] = [];
      const note = (check: Check) => checks.push(check);

      const database = await attempt(note, 'database', 'Check DATABASE_URL.', () => session.openDatabase());
      let migrated = false;
      if (database) {
        note({
          check: 'database',
          ok: true,
          found: `Postgres ${await serverVersion(database.kysely)} at ${database.place}`,
        });
        const pending = await attempt(note, 'tables', undefined, () => whatIsPending(session, database));
        migrated = pending?.length === 0;
        if (pending) note(tablesCheck(pending));
      }
      const known = migrated ? database : undefined;
      const traits: (Trait & { source: string })[] = [];
      const several = settings.sources.length > 1;
      const of = (source: string) => (several ? `${source} ` : '');
      for (const source of settings.sources) {
        const { name } = source;
        await checkSource(session, source, known, each => note({ ...each, found: `${of(name)}${each.found}` }));
        const found = known ? await readTraits(known.kysely, name) : [];
        traits.push(...found.map(trait => ({ source: name, ...trait })));
      }
      const ok = checks.every(check => check.ok);

      terminal.show({ ok, checks, settings: settings.shown, traits }, () => {
        const { colors } = terminal;
        const drawn = checks.map(({ check, ok, found, next }) => {
          const line = `${ok ? colors.green('ok    ') : colors.red('failed')}  ${check.padEnd(10)}${found}`;
          return next ? `${line}\n${' '.repeat(18)}${next}` : line;
        });
        const rows = settings.shown.map(({ name, value, from }) => [name, value, from]);
        const named = traits.map(trait => ({ ...trait, resource: `${of(trait.source)}${trait.resource}` }));
        const learnt = habits(named).map(({ list, words }) => [list, words]);
        const found =
          learnt.length > 0 ? [table(colors, ['list', 'as it was found'], learnt, { wrap: { 1: 76 } }), ''] : [];
        // The checks last: that is what stays on the screen.
        return [table(colors, ['setting', 'value', 'from'], rows), '', ...found, ...drawn].join('\n');
      });
      return ok ? 0 : 1;
    }),
  );
}

/** Does `work`; a failure becomes a check that failed. */
async function attempt<T>(
  note: (check: Check) => void,
  check: string,
  next: string | undefined,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    note({ check, ok: false, found: error.message, next: error.next ?? next });
    return undefined;
  }
}

function tablesCheck(pending: readonly string[]): Check {
  if (pending.length === 0) return { check: 'tables', ok: true, found: 'all migrations are applied' };
  // Reading brings them up to date by itself, so that is nothing to mend.
  return {
    check: 'tables',
    ok: true,
    found: `to be migrated: ${pendingText(pending)}`,
    next: 'Done by the next sync, or now: sluice migrate',
  };
}

async function checkSource(
  session: Session,
  named: NamedSource,
  database: Database | undefined,
  note: (check: Check) => void,
): Promise<void> {
  const { settings, jobs, signal } = session;
  const { name, settings: source } = named;
  if (!source && settings.shown.some(each => each.name === name)) {
    const next = 'Set the variable that api_key_from names in the sources file.';
    note({ check: 'key', ok: false, found: 'not set', next });
    return;
  }
  if (!source) {
    const missing = settings.shown.filter(each => /^SOURCE_(URL|API_KEY)$/.test(each.name) && each.value === 'not set');
    note({
      check: 'source',
      ok: false,
      found: `${missing.map(each => each.name).join(' and ')} not set`,
      next: 'Set it in the environment or in .env; to try without: sluice sandbox',
    });
    return;
  }
  const client = openSource(session, name, source, database);
  try {
    const path = [...jobs.values()][0]?.path ?? '/';
    const context = { lane: 'live' as const, purpose: 'doctor', attempts: 1, signal };
    const answer = await client.list(path, {}, { page: 1, limit: 1 }, context);
    const total = answer.kind === 'rows' ? answer.meta?.totalRecords : undefined;
    note({ check: 'source', ok: true, found: `answers at ${new URL(source.url).host}` });
    note({ check: 'key', ok: true, found: `accepted${total === undefined ? '' : `; ${path} has ${total} records`}` });
    if (answer.kind === 'gone')
      note({
        check: 'list',
        ok: false,
        found: `there is no ${path}`,
        next: 'SOURCE_URL is the address before /api/v2; correct it.',
      });
  } catch (error) {
    if (!(error instanceof SluiceError) || error.kind === 'stopped') throw error;
    // Whoever refuses the key has been reached.
    const reached = error.kind === 'unauthorized' || error.kind === 'refused';
    if (reached) note({ check: 'source', ok: true, found: `answers at ${new URL(source.url).host}` });
    const check = error.kind === 'quota' ? 'quota' : reached ? 'key' : 'source';
    note({ check, ok: false, found: error.message, next: error.next });
  } finally {
    await client.close();
  }
  if (!database) return;
  const usage = await openLedger(database, name, source).usage();
  note({ check: 'quota', ok: usage.free > 0, found: budgetLine(usage, at => zoned(at, named.timeZone)) });
  if (usage.limit < source.limit)
    note({
      check: 'limit',
      ok: true,
      found: `lowered to ${usage.limit} by the source or another process; SOURCE_RATE_LIMIT is ${source.limit}`,
    });
}

function openSource(
  { clock, log }: Session,
  name: string,
  source: SourceSettings,
  database: Database | undefined,
): Client {
  const { limit, windowMs } = source;
  const budget = database ? openLedger(database, name, source) : createMemoryBudget({ clock, limit, windowMs });
  return openClient({ ...source, budget, noWait: true, clock, log });
}
