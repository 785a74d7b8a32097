import { SECOND } from '../../clock.ts';
import { embeddedStatus, openEmbedded } from '../../embedded-postgres/embedded-server.ts';
import { limitServerLog } from '../../embedded-postgres/server-process.ts';
import { explain } from '../../errors.ts';
import type { Session } from '../session/session.ts';

const CHECK_EVERY_MS = 5 * SECOND;

/** While a service runs, restarts the embedded Postgres if it stops, after a crash or `sluice stop-db`, and limits its log. Returns what ends that. */
export function keepEmbedded({ settings, log, clock }: Session): () => Promise<void> {
  if (settings.databaseUrl) return async () => undefined;
  const { dataDir } = settings;
  const over = new AbortController();
  async function watch(): Promise<void> {
    while (!over.signal.aborted) {
      try {
        await clock.sleep(CHECK_EVERY_MS, over.signal);
        const { state, home } = await embeddedStatus(dataDir);
        await limitServerLog(home);
        if (state !== 'stopped') continue;
        log.warn('the embedded Postgres server has stopped; starting it again');
        await openEmbedded({ dataDir, log });
      } catch (error) {
        if (!over.signal.aborted)
          log.error({ reason: explain(error) }, 'could not check or start the embedded Postgres server; trying again');
      }
    }
  }
  const watching = watch();
  return async () => {
    over.abort();
    await watching;
  };
}
