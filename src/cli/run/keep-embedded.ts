import { SECOND } from '../../clock.ts';
import { embeddedStatus, openEmbedded } from '../../embedded-postgres/embedded-server.ts';
import { explain } from '../../errors.ts';
import type { Session } from '../cli.ts';

const LOOK_EVERY_MS = 5 * SECOND;

/**
 * Starts the embedded Postgres again when it has stopped while a service runs: after a crash, or by `sluice stop-db`. Without it
 * everything would be down until a person comes. Returns what ends the watch.
 */
export function keepEmbedded({ settings, log, clock }: Session): () => Promise<void> {
  if (settings.databaseUrl) return async () => undefined;
  const { dataDir } = settings;
  const over = new AbortController();
  async function watch(): Promise<void> {
    while (!over.signal.aborted) {
      try {
        await clock.sleep(LOOK_EVERY_MS, over.signal);
        if ((await embeddedStatus(dataDir)).state !== 'stopped') continue;
        log.warn('the embedded Postgres has stopped, and is started again');
        await openEmbedded({ dataDir, log });
      } catch (error) {
        if (!over.signal.aborted) log.error({ reason: explain(error) }, 'the embedded Postgres could not be started');
      }
    }
  }
  const watching = watch();
  return async () => {
    over.abort();
    await watching;
  };
}
