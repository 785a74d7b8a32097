import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { LISTS_FOLDER } from '../../config/list-files.ts';
import { embeddedStatus, removeEmbedded } from '../../embedded-postgres/embedded-server.ts';
import { groupBy } from '../../engine/group-by.ts';
import { declareTables } from '../../engine/records/declare-table.ts';
import { SluiceError } from '../../errors.ts';
import { shellWord } from '../../next-steps.ts';
import { RECEIVERS_FILE } from '../../receivers.ts';
import { count, listed, plural } from '../../service/format.ts';
import {
  connectedPrograms,
  findKept,
  type Kept,
  otherDatabases,
  removeKept,
} from '../../warehouse/erasure/uninstall.ts';
import { table } from '../output/table.ts';
import { confirm } from '../session/confirm.ts';
import { type Cli, newCommand, type Session, type Warehouse } from '../session/session.ts';

const EXAMPLES = `sluice uninstall --dry-run   what lies where, and what would stay
sluice uninstall             ask, then remove it`;

interface Options {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** What lies where. */
interface Found extends Kept {
  readonly database: string;
  /** The folder of the embedded server; null with a server of your own. */
  readonly folder: string | null;
  /** Other databases of the embedded server, which go with it. */
  readonly databases: readonly { readonly name: string; readonly bytes: number }[];
  /** Files with settings, which stay. */
  readonly files: readonly string[];
}

export function command(cli: Cli): Command {
  return newCommand('uninstall', EXAMPLES)
    .option('--dry-run', 'show what lies where, and what would stay; change nothing')
    .option('--yes', 'do not ask for confirmation')
    .action(cli.action({ source: false }, uninstall));
}

async function uninstall(session: Session, { dryRun = false, yes = false }: Options): Promise<0> {
  const { terminal, settings } = session;
  const { dataDir, databaseUrl } = settings;
  const server = databaseUrl === null ? await embeddedStatus(dataDir) : null;
  if (server?.state === 'absent') {
    terminal.show({ dryRun, removed: false }, () => `Nothing is there: no Postgres was set up in ${dataDir}.`);
    return 0;
  }
  const database = await session.openDatabase();
  const found = await find(session, database, server?.home ?? null);
  if (!dryRun) {
    await refuseOthers(database, found);
    const data = dataOf(found).map(([where, holds]) => `${where}: ${holds}`);
    const question = `Remove the copy in ${found.folder ?? found.database} (${data.join('; ')}), with all history and bookkeeping?`;
    if (!yes) await confirm(session, { name: 'uninstall', question, command: 'sluice uninstall --yes' });
  }
  const schemasLeft = dryRun ? [] : await remove(database, found, dataDir);
  terminal.show({ dryRun, removed: !dryRun, ...found, schemasLeft }, () =>
    [...whatIs(session, found, dryRun), ...whatStays(found, schemasLeft), ...nextOf(found, dryRun)].join('\n'),
  );
  return 0;
}

async function find({ settings, jobs, shell }: Session, database: Warehouse, folder: string | null): Promise<Found> {
  const declared = declareTables(jobs).flatMap(({ children }) => children.map(({ name }) => name));
  const kept = await findKept(
    database.kysely,
    settings.sources.map(({ schema }) => schema),
    declared,
  );
  const files = [
    join(shell.cwd, '.env'),
    join(shell.cwd, RECEIVERS_FILE),
    join(shell.cwd, LISTS_FOLDER),
    ...(settings.sourcesFile === null ? [] : [settings.sourcesFile]),
  ];
  const databases = folder === null ? [] : await otherDatabases(database.kysely);
  return { database: database.place, folder, databases, ...kept, files: files.filter(file => existsSync(file)) };
}

async function refuseOthers(database: Warehouse, { folder }: Found): Promise<void> {
  // The embedded server goes with all of its databases.
  const to = folder === null ? 'database' : 'server';
  const others = await connectedPrograms(database.kysely, 'sluice uninstall', to);
  if (others.length === 0) return;
  throw new SluiceError('failed', `Another process of Sluice uses this database: ${listed(others)}.`, {
    next: 'Stop it, then run this command again. Nothing was removed.',
  });
}

/** Returns the schemas that stay, because others have something there. */
async function remove(database: Warehouse, found: Found, dataDir: string): Promise<string[]> {
  if (found.folder === null) return removeKept(database, found);
  await removeEmbedded(dataDir);
  return [];
}

/** Of each schema with data, what it is called and what it holds. */
function dataOf({ schemas, tables }: Found): [where: string, holds: string][] {
  if (schemas.length === 0) return [['no schema', '0 tables, 0 rows']];
  return schemas.map(schema => {
    const own = tables.filter(table => table.schema === schema);
    const rows = own.reduce((sum, table) => sum + table.rows, 0);
    return [`schema ${schema}`, `${plural(own.length, 'table')}, ${plural(rows, 'row')}`];
  });
}

function whatIs({ terminal }: Session, found: Found, dryRun: boolean): string[] {
  const { views, bytes, folder, databases, database } = found;
  const size = (of: number) => `${count(Math.ceil(of / 2 ** 20))} MB`;
  const lines = [
    ...dataOf(found).map(row => ['data', ...row]),
    ...[...groupBy(views, ({ schema }) => schema)].map(([schema, of]) => [
      'views that read it',
      `schema ${schema}`,
      plural(of.length, 'view'),
    ]),
    ['bookkeeping', 'schema sluice', 'runs, coverage, requests, quarantine'],
    ...databases.map(({ name, bytes: of }) => ['another database', name, size(of)]),
    ...(folder === null ? [] : [['embedded Postgres', folder, 'the server and all of its files']]),
  ];
  const title = `${dryRun ? 'Would be removed' : 'Removed'} from ${database} (${size(bytes)}):`;
  return [title, '', table(terminal.colors, ['what', 'where', 'holds'], lines)];
}

function whatStays(found: Found, schemasLeft: readonly string[]): string[] {
  const { files, webhooks, views, schemas, folder } = found;
  const foreign = views.filter(({ schema }) => !schemas.includes(schema));
  const notes = [
    ...(foreign.length > 0 ? [`Views in other schemas go with the tables that they read: ${named(foreign)}.`] : []),
    ...schemasLeft.map(schema => `Schema ${schema} stays: it is not only part of Sluice.`),
    ...(folder === null ? staysOnServer(found) : []),
    ...webhooks.map(url => `The source still sends to ${url}: end that in its administration.`),
    ...(files.length > 0 ? [`Settings and their keys stay: ${files.join(', ')}.`] : []),
  ];
  return notes.length === 0 ? [] : ['', ...notes];
}

const staysOnServer = ({ referring, publications, logins }: Found): string[] => [
  ...(referring.length > 0 ? [`Tables that refer to rows stay, without these foreign keys: ${named(referring)}.`] : []),
  ...(publications.length > 0 ? [`Publications stay, without these tables: ${publications.join(', ')}.`] : []),
  ...logins.map(
    login =>
      `The login ${login} stays. To remove it, let an administrator run: drop owned by ${login}; drop role ${login}`,
  ),
];

const named = (relations: Found['views']): string =>
  relations.map(({ schema, name }) => `${schema}.${name}`).join(', ');

const nextOf = ({ files }: Found, dryRun: boolean): string[] => [
  '',
  dryRun
    ? 'Nothing was changed. To remove it: sluice uninstall'
    : `The program itself: npm uninstall sluice${files.length > 0 ? `; the settings: rm -r ${files.map(shellWord).join(' ')}` : ''}`,
];
