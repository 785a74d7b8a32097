import type { Command } from 'commander';
import { createMemoryBudget } from '../../budget/memory-budget.ts';
import type { SourceConfig, SourceSettings } from '../../config/config.ts';
import { SluiceError } from '../../errors.ts';
import { budgetLine } from '../../service/format.ts';
import { describeProfile } from '../../service/status/describe-profile.ts';
import { openClient } from '../../source/client.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { readTraits, type Trait } from '../../warehouse/ledgers/traits.ts';
import { findPowers, POWERS_NEXT, serverVersion } from '../../warehouse/reports/server.ts';
import { momentWithZone } from '../output/moments.ts';
import { table } from '../output/table.ts';
import { listPending, pendingText } from '../run/pending-migrations.ts';
import { readTargets, TARGET_NEXT } from '../run/targets.ts';
import { describeAddresses, describeShared, describeTls, SHARED_NEXT, TLS_NEXT } from '../session/check-settings.ts';
import { type Cli, newCommand, type Session, type Warehouse } from '../session/session.ts';
import { isOpen, openLedger } from '../session/source-settings.ts';

export function doctorCommand(cli: Cli): Command {
  return newCommand(
    'doctor',
    'Check settings, database and source; sends at most one request to each source',
    'sluice doctor\nsluice doctor --settings',
  )
    .option('--settings', 'list the settings that have their default, too')
    .action(
      cli.action({ source: false }, async (session, { settings: all = false }: { settings?: boolean }) => {
        const { terminal, settings } = session;
        const checks: Check[] = [];
        const note = (check: Check) => checks.push(check);
        const database = await checkDatabase(session, note);
        const traits: SourceTrait[] = [];
        for (const source of settings.sources) {
          const { name } = source;
          await checkSource(session, source, database, each =>
            note({ ...each, found: prefix(session, name) + each.found }),
          );
          const found = database ? await readTraits(database.kysely, name) : [];
          traits.push(...found.map(trait => ({ source: name, ...trait })));
        }
        for (const found of describeAddresses(settings.sources)) note({ check: 'address', ok: true, found });
        for (const found of describeShared(settings.sources.filter(isOpen)))
          note({ check: 'sources', ok: true, found, next: SHARED_NEXT });
        const ok = checks.every(check => check.ok);
        terminal.show({ ok, checks, settings: settings.shown, traits }, () => draw(session, checks, traits, all));
        return ok ? 0 : 1;
      }),
    );
}

type SourceTrait = Trait & { readonly source: string };

/** With several sources, a line starts with the name of its source. */
const prefix = ({ settings }: Session, source: string): string => (settings.sources.length > 1 ? `${source} ` : '');

function draw(session: Session, checks: readonly Check[], traits: readonly SourceTrait[], all: boolean): string {
  const { colors } = session.terminal;
  const checkLines = checks.map(({ check, ok, found, next }) => {
    const line = `${ok ? colors.green('ok    ') : colors.red('failed')}  ${check.padEnd(10)}${found}`;
    return next ? `${line}\n${' '.repeat(18)}${next}` : line;
  });
  const { shown } = session.settings;
  const listed = shown.filter(({ from }) => all || from !== 'default');
  const settings = listed.map(({ name, value, from }) => [name, value, from]);
  const rest = shown.length - listed.length;
  const others = rest > 0 ? [`${rest} settings have their default: sluice doctor --settings`] : [];
  const lists = describeProfile(
    traits.map(trait => ({ ...trait, resource: prefix(session, trait.source) + trait.resource })),
  ).map(({ list, words }) => [list, words]);
  const profile =
    lists.length > 0 ? [table(colors, ['list', 'observed behaviour'], lists, { wrap: { 1: 76 } }), ''] : [];
  // The checks come last, so that they stay on the screen.
  const given = settings.length > 0 ? [table(colors, ['setting', 'value', 'from'], settings)] : [];
  return [...given, ...others, '', ...profile, ...checkLines].join('\n');
}

/** The database, where it answers and is up to date: without its tables, only the source can be checked. */
async function checkDatabase(session: Session, note: (check: Check) => void): Promise<Database | undefined> {
  const database = await attempt(note, 'database', 'Check DATABASE_URL.', () => session.openDatabase());
  if (!database) return undefined;
  const version = await serverVersion(database.kysely);
  note({ check: 'database', ok: true, found: `Postgres ${version} at ${database.place}` });
  const unprotected = describeTls(database.url);
  if (unprotected !== null) note({ check: 'tls', ok: true, found: unprotected, next: TLS_NEXT });
  if (session.settings.databaseUrl) await checkLogins(session, database, note);
  const pending = await attempt(note, 'tables', undefined, () => listPending(session, database));
  if (pending?.length === 0) {
    note({ check: 'tables', ok: true, found: 'up to date' });
    return database;
  }
  const next = 'The next sync applies them. To apply them now: sluice migrate';
  // Not a failure: the next sync migrates.
  if (pending) note({ check: 'tables', ok: true, found: `pending migrations: ${pendingText(pending)}`, next });
  return undefined;
}

/** Not failures: what earlier versions accepted goes on working. */
async function checkLogins(session: Session, database: Warehouse, note: (check: Check) => void): Promise<void> {
  const powers = await findPowers(database);
  if (powers !== null) note({ check: 'login', ok: true, found: powers, next: POWERS_NEXT });
  if (database.readerUrl === null)
    return note({ check: 'reader', ok: true, found: 'no login that may only read', next: 'Create one: sluice grant' });
  const reader = await attempt(note, 'reader', 'Check READER_DATABASE_URL.', () => session.openReader());
  if (!reader) return;
  const mighty = await findPowers(reader);
  const found = mighty ?? `sluice sql reads as ${new URL(reader.url).username}`;
  note({ check: 'reader', ok: mighty === null, found, next: mighty ? 'Create another: sluice grant' : undefined });
}

/** Runs `work`; an error becomes a failed check. */
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

async function checkSource(
  session: Session,
  named: SourceConfig,
  database: Database | undefined,
  note: (check: Check) => void,
): Promise<void> {
  const { name, timeZone, settings: source } = named;
  if (!source) return note(settingsCheck(session, name));
  await checkAnswer(session, name, source, database, note);
  if (!database) return;
  const usage = await openLedger(database, name, source).usage();
  note({ check: 'quota', ok: usage.free > 0, found: budgetLine(usage, at => momentWithZone(at, timeZone)) });
  if (usage.limit < source.limit)
    note({
      check: 'limit',
      ok: true,
      found: `the source or another process lowered it to ${usage.limit}; SOURCE_RATE_LIMIT is ${source.limit}`,
    });
  for (const { text, feasible } of await readTargets(database, named, session.jobs, usage.limit))
    note({ check: 'target', ok: true, found: text, next: feasible === false ? TARGET_NEXT : undefined });
}

/** Which setting is missing for a source that cannot be asked. */
function settingsCheck({ settings: { shown } }: Session, source: string): Check {
  if (shown.some(each => each.name === source)) {
    const next = 'Set the environment variable that api_key_from names in the sources file.';
    return { check: 'key', ok: false, found: 'not set', next };
  }
  const missing = shown.filter(each => /^SOURCE_(URL|API_KEY)$/.test(each.name) && each.value === 'not set');
  return {
    check: 'source',
    ok: false,
    found: `${missing.map(each => each.name).join(' and ')} not set`,
    next: 'Set it in the environment or in .env. To try Sluice without a source: sluice sandbox',
  };
}

export interface Check {
  readonly check: string;
  readonly ok: boolean;
  readonly found: string;
  readonly next?: string | undefined;
}

/** Sends one request, within the budget of all processes if there is a database. */
export async function checkAnswer(
  session: Session,
  name: string,
  source: SourceSettings,
  database: Database | undefined,
  note: (check: Check) => void,
): Promise<void> {
  const { jobs, clock, log, signal } = session;
  const { limit, windowMs } = source;
  const budget = database ? openLedger(database, name, source) : createMemoryBudget({ clock, limit, windowMs });
  const reachable = { check: 'source', ok: true, found: `answers at ${new URL(source.url).host}` };
  const client = openClient({ ...source, budget, noWait: true, clock, log });
  try {
    const path = [...jobs.values()][0]?.path ?? '/';
    const context = { lane: 'live' as const, purpose: 'doctor', attempts: 1, signal };
    const answer = await client.list(path, {}, { page: 1, limit: 1 }, context);
    const total = answer.kind === 'rows' ? answer.meta?.totalRecords : undefined;
    note(reachable);
    note({ check: 'key', ok: true, found: `accepted${total === undefined ? '' : `; ${path} has ${total} records`}` });
    if (answer.kind === 'gone')
      note({
        check: 'list',
        ok: false,
        found: `the source has no ${path}`,
        next: 'Set SOURCE_URL to the part of the address before /api/v2.',
      });
  } catch (error) {
    if (!(error instanceof SluiceError) || error.kind === 'stopped') throw error;
    // A source that rejects the key has been reached.
    const isReached = error.kind === 'unauthorized' || error.kind === 'refused';
    if (isReached) note(reachable);
    const check = error.kind === 'quota' ? 'quota' : isReached ? 'key' : 'source';
    note({ check, ok: false, found: error.message, next: error.next });
  } finally {
    await client.close();
  }
}
