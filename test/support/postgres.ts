import { chmod, mkdtemp, readdir, readFile, rm, statfs } from 'node:fs/promises';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { embeddedStatus, openEmbedded, stopEmbedded } from '../../src/embedded-postgres/embedded-server.ts';
import { dataFolder } from '../../src/embedded-postgres/home-files.ts';
import { isAlive } from '../../src/embedded-postgres/server-process.ts';
import { createLog } from '../../src/log.ts';
import { openDatabase } from '../../src/warehouse/database/database.ts';
import { migrate } from '../../src/warehouse/database/migrate.ts';
import { ask } from './ask.ts';
import { inDatabase, MIGRATIONS } from './database.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A database on the test server, for a user who may create databases. */
    postgresUrl: string;
    /** The same for pools of the test's own process, through a Unix socket where there is one. */
    postgresSocketUrl: string;
    /** The same server for a superuser. */
    postgresAdminUrl: string;
    /** The migrated database from which every test database is cloned. */
    postgresTemplate: string;
  }
}

/** Starts one server for the whole run (or uses `TEST_DATABASE_URL`) and creates one migrated template. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const log = createLog({ level: 'warn' });
  const given = process.env.TEST_DATABASE_URL;
  const server = given ? useServer(given) : await startServer(log);
  const template = await createTemplate(server.url, log);
  project.provide('postgresUrl', server.url);
  project.provide('postgresSocketUrl', server.socketUrl);
  project.provide('postgresAdminUrl', server.adminUrl);
  project.provide('postgresTemplate', template);
  return async () => {
    if (given) await asAdmin(server.url, `drop database ${template}`);
    await server.stop();
  };
}

/** Creates the migrated database that others are cloned from, and returns its name. */
export async function createTemplate(server: string, log: ReturnType<typeof createLog>): Promise<string> {
  const template = `sluice_template_${process.pid}`;
  await asAdmin(server, `drop database if exists ${template}`);
  await asAdmin(server, `create database ${template}`);
  const database = await openDatabase({ url: inDatabase(server, template), applicationName: 'template', log, max: 1 });
  try {
    await migrate({ database, ...MIGRATIONS });
  } finally {
    await database.close();
  }
  return template;
}

const MEMORY = '/dev/shm';
const ROOM = 4 * 2 ** 30;

/** Memory if it has room and allows programs, else the disk. Each test creates and removes hundreds of files, which takes half the time in memory. */
async function folderForServers(): Promise<string> {
  try {
    const { bavail, bsize } = await statfs(MEMORY);
    const mounts = (await readFile('/proc/mounts', 'utf8')).split('\n').map(line => line.split(' '));
    const options = mounts.find(([, place]) => place === MEMORY)?.[3]?.split(',') ?? ['noexec'];
    if (Math.min(bavail * bsize, freemem()) >= ROOM && !options.includes('noexec')) return MEMORY;
  } catch {
    // No Linux, or no shared memory.
  }
  return tmpdir();
}

/** A folder for a server of a test's own, which the test stops and removes. */
export async function makeServerFolder(): Promise<string> {
  const folder = await mkdtemp(join(await folderForServers(), `sluice-test-${process.pid}-`));
  // If root runs the tests, the server belongs to an unprivileged user, who needs access.
  await chmod(folder, 0o755);
  return folder;
}

/** Stops the servers of killed runs, which would keep their memory. */
async function stopLeftOver(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const run = /^sluice-test-(\d+)-/.exec(name)?.[1];
    if (run === undefined || isAlive(Number(run))) continue;
    await stopEmbedded(join(folder, name)).catch(() => undefined);
    // Another run may be removing it, too.
    await rm(join(folder, name), { recursive: true, force: true }).catch(() => undefined);
  }
}

interface TestServer {
  readonly url: string;
  readonly socketUrl: string;
  /** For a superuser. */
  readonly adminUrl: string;
  readonly stop: () => Promise<void>;
}

/** A server that someone else started. */
export const useServer = (url: string): TestServer => ({
  url,
  socketUrl: url,
  adminUrl: url,
  stop: async () => undefined,
});

export async function startServer(log: ReturnType<typeof createLog>): Promise<TestServer> {
  await stopLeftOver(await folderForServers());
  const dataDir = await makeServerFolder();
  // Databases live for seconds: vacuuming them is wasted work.
  const settings = {
    fsync: 'off',
    full_page_writes: 'off',
    synchronous_commit: 'off',
    autovacuum: 'off',
    max_connections: '200',
    // In its data folder; a statement through it costs a quarter less than over TCP.
    unix_socket_directories: "'.'",
  };
  const { url } = await openEmbedded({ dataDir, log, settings });
  const { home } = await embeddedStatus(dataDir);
  return {
    url,
    socketUrl: `${url}?host=${encodeURIComponent(dataFolder(home))}`,
    adminUrl: await adminOf(url, dataDir),
    async stop() {
      await stopEmbedded(dataDir);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** The embedded server's superuser, in the same database. */
export async function adminOf(url: string, dataDir: string): Promise<string> {
  const { home } = await embeddedStatus(dataDir);
  const password = (await readFile(join(home, 'admin-password'), 'utf8')).trim();
  return Object.assign(new URL(url), { username: 'sluice_admin', password }).href;
}

export async function asAdmin(url: string, sql: string): Promise<void> {
  await ask(url, sql);
}
