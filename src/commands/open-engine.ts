import type { Clock } from '../clock.ts';
import type { Engine, LoopEvent } from '../engine/engine.ts';
import type { Job } from '../engine/job.ts';
import { openResource } from '../engine/resource.ts';
import { createWaiting } from '../engine/waiting.ts';
import type { Log } from '../log.ts';
import { openClient } from '../source/client.ts';
import type { Database } from '../warehouse/database.ts';
import { openLedger, type SourceSettings } from './source-settings.ts';

/** Everything a source's loop needs. What is known of its slices may be old: the loop reads it anew under the source's lock. */
export async function openEngine(options: {
  database: Database;
  /** What the bookkeeping calls the source. */
  name: string;
  source: SourceSettings;
  jobs: ReadonlyMap<string, Job>;
  schema: string;
  clock: Clock;
  log: Log;
  noWait: boolean;
  onEvent: (event: LoopEvent) => void;
}): Promise<Engine & { close(): Promise<void> }> {
  const { database, source, clock, log, schema } = options;
  const resources = await Promise.all(
    [...options.jobs].map(([resource, job]) =>
      openResource(database, { source: options.name, name: resource, job, schema }),
    ),
  );
  const waiting = createWaiting(clock);
  const client = openClient({
    ...source,
    budget: openLedger(database, options.name, source),
    noWait: options.noWait,
    onWait: (_lane, waitMs) => waiting.note(waitMs),
    clock,
    log,
  });
  return {
    source: options.name,
    resources,
    database,
    client,
    clock,
    log,
    waiting,
    onEvent: options.onEvent,
    timeZone: source.timeZone,
    pageSize: source.pageSize,
    concurrency: source.concurrency,
    limit: source.limit,
    windowMs: source.windowMs,
    close: () => client.close(),
  };
}
