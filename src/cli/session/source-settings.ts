import { createLedger, type Ledger } from '../../budget/ledger/ledger.ts';
import type { Usage } from '../../budget/ledger/usage.ts';
import { HOUR, MINUTE } from '../../clock.ts';
import type { SourceConfig } from '../../config/config.ts';
import type { AgendaRules } from '../../engine/agenda/list-facts.ts';
import type { Job } from '../../engine/job.ts';
import { SluiceError } from '../../errors.ts';
import type { Planned } from '../../service/schedule/schedule.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { SourceLock } from '../../warehouse/database/source-lock.ts';
import { recogniseSource } from '../../warehouse/ledgers/sources.ts';
import { countConnections } from '../../warehouse/reports/server.ts';
import { isOpen, type OpenSource, type Session } from './session.ts';

/** Resource to cron expression, without the resources whose schedule is off. */
const schedulesOf = ({ schedules }: SourceConfig, jobs: ReadonlyMap<string, Job>): Map<string, string> =>
  new Map(
    [...jobs]
      .map(([resource, job]) => [resource, schedules[resource] ?? job.schedule] as const)
      .filter(([, schedule]) => schedule !== 'off'),
  );

/** When each resource of the source is read. */
export const plannedOf = (source: SourceConfig, jobs: ReadonlyMap<string, Job>): Planned[] =>
  [...schedulesOf(source, jobs)].map(([resource, schedule]) => {
    return { source: source.name, resource, schedule, timeZone: source.scheduleTimeZone };
  });

/** The ledger of requests of the source's key, shared by all processes. */
export const openLedger = (database: Database, source: OpenSource): Ledger => {
  const { name, settings } = source;
  return createLedger({ ...settings, ...limitsOf(source), database, source: name, mayWait: true });
};

/** The request limit of the source's key, and how much of it is left to other programs at this moment. */
export const limitsOf = ({ rateLimit, windowMs, reservedAt }: SourceConfig) => ({
  ...{ limit: rateLimit, windowMs },
  reserve: () => reservedAt(Date.now()),
});

/** What is used and left of the request limit; null where the key is not set. */
export const readUsage = async (database: Database, source: SourceConfig): Promise<Usage | null> =>
  isOpen(source) ? openLedger(database, source).usage() : null;

/** A source as its state is read. */
export const watchedSource = (source: SourceConfig, jobs: ReadonlyMap<string, Job>) => ({
  ...{ name: source.name, schema: source.schema, timeZone: source.timeZone, jobs },
  scheduled: [...schedulesOf(source, jobs).keys()],
  rules: agendaRules(source),
});

/** Kind `configuration` if the source under this name used to be another installation; `moved` confirms a new address. */
export const recognise = (
  database: Database,
  { name, schema, currency, settings }: OpenSource,
  moved = false,
): Promise<void> => recogniseSource(database.kysely, { source: name, url: settings.url, schema, currency, moved });

/** What the settings say about the agenda of the source. */
export function agendaRules(source: SourceConfig): AgendaRules & Required<Pick<AgendaRules, 'weights' | 'targets'>> {
  const { limit, windowMs, timeZone, schedules, targetMinutes, mostSweeps } = source;
  // A resource whose schedule is off leaves its share of the requests to the others.
  const off = Object.keys(schedules).filter(resource => schedules[resource] === 'off');
  const hours = Object.entries(targetMinutes).map(([resource, minutes]) => [resource, (minutes * MINUTE) / HOUR]);
  return {
    limit,
    windowMs,
    timeZone,
    mostSweeps,
    weights: { ...source.weights, ...Object.fromEntries(off.map(resource => [resource, 0])) },
    targets: Object.fromEntries(hours),
  };
}

const NAME = 'sluice start';
/** Postgres cuts an application name at 63 bytes. */
const nameOf = (source: string): string => `${NAME} ${source}`.slice(0, 63);

/** The application name of the service's connections, by which other commands see that it runs: for one source, or for all. */
export const serviceName = ({ settings: { sources } }: Session): string =>
  sources.length === 1 && sources[0] ? nameOf(sources[0].name) : NAME;

export const isServiceRunning = async (database: Database, source: string): Promise<boolean> =>
  (await countConnections(database.kysely, [NAME, nameOf(source)])) > 0;

/** Runs `work` under the lock; kind `failed` if another process has it. `busy`: what that one does, and the consequence. */
export async function underLock<T>(
  lock: SourceLock | null,
  busy: string,
  work: (lock: SourceLock) => Promise<T>,
  next = 'Stop that process or wait until it has finished, then run this command again.',
): Promise<T> {
  if (!lock) throw new SluiceError('failed', `Another process is ${busy}.`, { next });
  try {
    return await work(lock);
  } finally {
    await lock.release();
  }
}
