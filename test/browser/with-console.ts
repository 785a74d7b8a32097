import { openSandbox, type Sandbox } from '../../sandbox/sandbox.ts';
import type { Service, ServiceOptions } from '../../src/service/service.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import { withReader } from '../service/with-reader.ts';
import { servedSource, withService } from '../service/with-service.ts';
import { withDatabase } from '../support/database.ts';
import { openEngine, serveOrders } from '../support/source.ts';

export interface Console {
  readonly url: string;
  readonly database: Database;
  readonly sandbox: Sandbox;
  readonly engine: Awaited<ReturnType<typeof openEngine>>;
  readonly service: Service;
}

/** The console over a warehouse that a real engine has read from a sandbox (`synced: false`: not yet). `reads`: queries can be run. `sources`: others like it, by the names `source-2` and so on. */
export async function withConsole(
  fn: (console: Console) => Promise<void>,
  {
    synced = true,
    reads = false,
    sources = 1,
    ...options
  }: Partial<Omit<ServiceOptions, 'sources'>> & { synced?: boolean; reads?: boolean; sources?: number } = {},
): Promise<void> {
  const sandbox = await openSandbox({ rateLimit: 0 });
  try {
    await withDatabase(async (database, given) => {
      const engine = await openEngine(database, sandbox);
      try {
        if (synced) await serveOrders(engine, 'sync');
        const serve = (more: Partial<ServiceOptions>) =>
          withService(database, { ...options, ...more, sources: served(database, sources) }, service =>
            fn({ url: service.url, database, sandbox, engine, service }),
          );
        if (reads) await withReader(database, given, reader => serve({ openReader: async () => reader }));
        else await serve({});
      } finally {
        await engine.close();
      }
    });
  } finally {
    await sandbox.close();
  }
}

const served = (database: Database, count: number) => {
  const main = servedSource(database);
  return Array.from({ length: count }, (_, place) => (place === 0 ? main : { ...main, name: `source-${place + 1}` }));
};
