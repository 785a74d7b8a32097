import type { Command } from 'commander';
import type { SourceConfig } from '../../config/config.ts';
import { SluiceError } from '../../errors.ts';
import { budgetLine } from '../../service/format.ts';
import { describeProfile } from '../../service/status/describe-profile.ts';
import { driftedFields, driftLine } from '../../service/status/field-drift.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { readTraits, type Trait } from '../../warehouse/ledgers/traits.ts';
import { serverVersion } from '../../warehouse/reports/server.ts';
import { momentWithZone } from '../output/moments.ts';
import { table } from '../output/table.ts';
import { listPending, pendingText } from '../run/pending-migrations.ts';
import { describeMighty } from '../run/service-reader.ts';
import { withClient } from '../run/source-client.ts';
import { readTargets, TARGET_NEXT } from '../run/targets.ts';
import { describeAddresses, describePowers, describeShared, describeTls } from '../session/check-settings.ts';
import { CORRECT_RECEIVERS, describeUnknown, hiddenReceivers } from '../session/receivers.ts';
import { type Cli, isOpen, newCommand, type OpenSource, type Session, type Warehouse } from '../session/session.ts';
import { unknownMasks } from '../session/source-jobs.ts';
import { openLedger } from '../session/source-settings.ts';

export function command(cli: Cli): Command {
  return newCommand('doctor', 'sluice doctor\nsluice doctor --settings')
    .option('--settings', 'list the settings that have their default, too')
    .action(
      cli.action({ source: false }, async (session, { settings: all = false }: { settings?: boolean }) => {
        const { terminal, settings } = session;
        const checks: Check[] = [];
        const note: Note = check => checks.push(check);
        const database = await checkDatabase(session, note);
        const traits: SourceTrait[] = [];
        for (const source of settings.sources) {
          const start = prefix(session, source.name);
          await checkSource(session, source, database, each => note({ ...each, found: start + each.found }));
          for (const { name, hint } of unknownMasks(source, session.jobs))
            note({ check: 'masks', ok: true, found: `${start}SOURCE_NEVER names ${name}, which has no column${hint}` });
          if (!database) continue;
          const known = await readTraits(database.kysely, source.name);
          traits.push(...known.map(trait => ({ source: source.name, ...trait })));
          for (const each of driftedFields(known, session.jobs, await databaseNow(database)))
            note({ check: 'fields', ok: true, found: start + driftLine(each, source.timeZone), next: each.meaning });
        }
        for (const found of describeAddresses(settings.sources)) note({ check: 'address', ok: true, found });
        for (const shared of describeShared(settings.sources.filter(isOpen)))
          note({ check: 'sources', ok: true, ...shared });
        await checkReceivers(session, note);
        const ok = checks.every(check => check.ok);
        terminal.show({ ok, checks, settings: settings.shown, traits }, () => draw(session, checks, traits, all));
        return ok ? 0 : 1;
      }),
    );
}

export interface Check {
  readonly check: string;
  readonly ok: boolean;
  readonly found: string;
  readonly next?: string | undefined;
}

type Note = (check: Check) => unknown;
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
  const settings = shown
    .filter(({ from }) => all || from !== 'default')
    .map(({ name, value, from }) => [name, value, from]);
  const rest = shown.length - settings.length;
  const lists = describeProfile(
    traits.map(trait => ({ ...trait, resource: prefix(session, trait.source) + trait.resource })),
  ).map(({ list, words }) => [list, words]);
  return [
    ...(settings.length > 0 ? [table(colors, ['setting', 'value', 'from'], settings)] : []),
    ...(rest > 0 ? [`${rest} settings have their default: sluice doctor --settings`] : []),
    '',
    ...(lists.length > 0 ? [table(colors, ['list', 'observed behaviour'], lists, { wrap: { 1: 76 } }), ''] : []),
    // Last, so that they stay on the screen.
    ...checkLines,
  ].join('\n');
}

/** The database, where it answers and is up to date: without its tables, only the source can be checked. */
async function checkDatabase(session: Session, note: Note): Promise<Database | undefined> {
  const database = await attempt(note, 'database', 'Check DATABASE_URL.', () => session.openDatabase());
  if (!database) return undefined;
  const version = await serverVersion(database.kysely);
  note({ check: 'database', ok: true, found: `Postgres ${version} at ${database.place}` });
  for (const unprotected of describeTls(database.url)) note({ check: 'tls', ok: true, ...unprotected });
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
async function checkLogins(session: Session, database: Warehouse, note: Note): Promise<void> {
  const check = 'reader';
  for (const powers of await describePowers(database)) note({ check: 'login', ok: true, ...powers });
  if (database.readerUrl === null)
    return void note({ check, ok: true, found: 'no login that may only read', next: 'Create one: sluice grant' });
  const reader = await attempt(note, check, 'Check READER_DATABASE_URL.', () => session.openReader());
  if (!reader) return;
  const mighty = await describeMighty(reader, database);
  if (mighty) note({ check, ok: false, ...mighty });
  else note({ check, ok: true, found: `sluice sql reads as ${new URL(reader.url).username}` });
}

async function checkReceivers(session: Session, note: Note): Promise<void> {
  const check = 'receivers';
  for (const receiver of (await attempt(note, check, undefined, async () => hiddenReceivers(session))) ?? []) {
    const unknown = describeUnknown(session, receiver);
    if (unknown !== null) note({ check, ok: false, found: `${receiver.name}: ${unknown}`, next: CORRECT_RECEIVERS });
  }
}

/** Runs `work`; an error becomes a failed check. */
async function attempt<T>(
  note: Note,
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
  source: SourceConfig,
  database: Database | undefined,
  note: Note,
): Promise<void> {
  if (!isOpen(source)) return void note(settingsCheck(session, source.name));
  for (const check of await checkAnswer(session, source, database)) note(check);
  if (!database) return;
  const usage = await openLedger(database, source).usage();
  note({ check: 'quota', ok: usage.free > 0, found: budgetLine(usage, at => momentWithZone(at, source.timeZone)) });
  const allowed = usage.limit + usage.reserve;
  if (allowed < source.rateLimit)
    note({
      check: 'limit',
      ok: true,
      found: `the source or another process lowered it to ${allowed}; SOURCE_RATE_LIMIT is ${source.rateLimit}`,
    });
  for (const { text, feasible } of await readTargets(database, source, session.jobs, usage.limit))
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

/** Sends one request, within the budget of all processes if there is a database. */
export async function checkAnswer(
  session: Session,
  source: OpenSource,
  database: Database | undefined,
): Promise<Check[]> {
  const reachable = { check: 'source', ok: true, found: `answers at ${new URL(source.settings.url).host}` };
  const path = [...session.jobs.values()][0]?.path ?? '/';
  const context = { lane: 'live', purpose: 'doctor', attempts: 1, signal: session.signal } as const;
  try {
    const answer = await withClient(session, { database, source, noWait: true }, client =>
      client.list(path, {}, {}, context),
    );
    const total = answer.kind === 'rows' ? answer.meta?.totalRecords : undefined;
    const key = {
      check: 'key',
      ok: true,
      found: `accepted${total === undefined ? '' : `; ${path} has ${total} records`}`,
    };
    if (answer.kind !== 'gone') return [reachable, key];
    const next = 'Set SOURCE_URL to the part of the address before /api/v2.';
    return [reachable, key, { check: 'list', ok: false, found: `the source has no ${path}`, next }];
  } catch (error) {
    if (!(error instanceof SluiceError) || error.kind === 'stopped') throw error;
    // A source that rejects the key has been reached.
    const isReached = error.kind === 'unauthorized' || error.kind === 'refused';
    const check = error.kind === 'quota' ? 'quota' : isReached ? 'key' : 'source';
    const failed = { check, ok: false, found: error.message, next: error.next };
    return isReached ? [reachable, failed] : [failed];
  }
}
