import type { Command } from 'commander';
import type { SourceConfig } from '../../config/config.ts';
import { SluiceError } from '../../errors.ts';
import { budgetLine } from '../../service/format.ts';
import { describeProfile } from '../../service/status/describe-profile.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { readTraits, type Trait } from '../../warehouse/ledgers/traits.ts';
import { findPowers, POWERS_NEXT, serverVersion } from '../../warehouse/reports/server.ts';
import { TARGET_NEXT } from '../agenda/describe-targets.ts';
import { readTargets } from '../agenda/read-targets.ts';
import { momentWithZone } from '../output/moments.ts';
import { table } from '../output/table.ts';
import { type Check, checkAnswer } from '../run/check-answer.ts';
import { listPending, pendingText } from '../run/pending-migrations.ts';
import { describeAddresses } from '../session/describe-addresses.ts';
import { describeTls, TLS_NEXT } from '../session/describe-tls.ts';
import { newCommand } from '../session/new-command.ts';
import type { Cli, Session, Warehouse } from '../session/session.ts';
import { describeShared, SHARED_NEXT } from '../session/shared-sources.ts';
import { isOpen, openLedger } from '../session/source-settings.ts';

interface Options {
  readonly settings?: boolean;
}

export function doctorCommand(cli: Cli): Command {
  return newCommand(
    'doctor',
    'Check settings, database and source; sends at most one request to each source',
    'sluice doctor\nsluice doctor --settings',
  )
    .option('--settings', 'list the settings that have their default, too')
    .action(
      cli.action({ source: false }, async (session, options: Options) => {
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
        terminal.show({ ok, checks, settings: settings.shown, traits }, () => draw(session, checks, traits, options));
        return ok ? 0 : 1;
      }),
    );
}

type SourceTrait = Trait & { readonly source: string };

/** With several sources, a line starts with the name of its source. */
const prefix = ({ settings }: Session, source: string): string => (settings.sources.length > 1 ? `${source} ` : '');

function draw(
  session: Session,
  checks: readonly Check[],
  traits: readonly SourceTrait[],
  { settings: all = false }: Options,
): string {
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
  if (pending) note(tablesCheck(pending));
  return pending?.length === 0 ? database : undefined;
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

function tablesCheck(pending: readonly string[]): Check {
  if (pending.length === 0) return { check: 'tables', ok: true, found: 'up to date' };
  // Not a failure: the next sync migrates.
  return {
    check: 'tables',
    ok: true,
    found: `pending migrations: ${pendingText(pending)}`,
    next: 'The next sync applies them. To apply them now: sluice migrate',
  };
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
