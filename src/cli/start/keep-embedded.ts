import { SECOND } from '../../clock.ts';
import { embeddedStatus, openEmbedded } from '../../embedded-postgres/embedded-server.ts';
import { explain } from '../../errors.ts';
import type { Session } from '../session/session.ts';

const CHECK_EVERY_MS = 5 * SECOND;

/** Restarts the embedded Postgres server if it stops while a service runs, after a crash or `sluice stop-db`. Returns what ends that. */
export function keepEmbedded({ settings, log, clock }: Session): () => Promise<void> {
  if (settings.databaseUrl) return async () => undefined;
  const { dataDir } = settings;
  const over = new AbortController();
  async function watch(): Promise<void> {
    while (!over.signal.aborted) {
      try {
        await clock.sleep(CHECK_EVERY_MS, over.signal);
        if ((await embeddedStatus(dataDir)).state !== 'stopped') continue;
        log.warn('the embedded Postgres server has stopped; starting it again');
        await openEmbedded({ dataDir, log });
      } catch (error) {
        if (!over.signal.aborted)
          log.error({ reason: explain(error) }, 'the embedded Postgres server could not be started');
      }
    }
  }
  const watching = watch();
  return async () => {
    over.abort();
    await watching;
  };
}
