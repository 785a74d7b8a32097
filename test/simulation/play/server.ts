import { createLog } from '../../../src/log.ts';
import { inDatabase } from '../../support/database.ts';
import { asAdmin, createTemplate, startServer, useServer } from '../../support/postgres.ts';

/** The server on which seeds get their databases. */
export interface Server {
  /** For this process: through a Unix socket where there is one. */
  readonly socketUrl: string;
  readonly template: string;
}

/** Starts a server, or uses `TEST_DATABASE_URL`, and creates a migrated template. */
export async function openServer(): Promise<Server & { readonly url: string; close(): Promise<void> }> {
  const log = createLog({ level: 'warn' });
  const given = process.env.TEST_DATABASE_URL;
  const { url, socketUrl, stop } = given ? useServer(given) : await startServer(log);
  const template = await createTemplate(url, log);
  return {
    url,
    socketUrl,
    template,
    async close() {
      await asAdmin(url, `drop database ${template}`);
      await stop();
    },
  };
}

let made = 0;

/** Brackets a seed with a database cloned from the template. */
export async function withClone<T>(server: Server, fn: (url: string) => Promise<T>): Promise<T> {
  const name = `simulated_${process.pid}_${++made}`;
  await asAdmin(server.socketUrl, `create database ${name} template ${server.template} strategy file_copy`);
  try {
    return await fn(inDatabase(server.socketUrl, name));
  } finally {
    // Sessions of a killed process take a moment to end.
    await asAdmin(server.socketUrl, `drop database ${name} with (force)`);
  }
}
