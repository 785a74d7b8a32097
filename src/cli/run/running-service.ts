import type { Database } from '../../warehouse/database/database.ts';
import { isConnected } from '../../warehouse/reports/server.ts';
import type { Session } from '../session/session.ts';

const NAME = 'sluice start';
/** Postgres cuts an application name at 63 bytes. */
const nameOf = (source: string): string => `${NAME} ${source}`.slice(0, 63);

/** The application name of the service's connections, by which other commands see that it runs: for one source, or for all. */
export const serviceName = ({ settings: { sources } }: Session): string =>
  sources.length === 1 && sources[0] ? nameOf(sources[0].name) : NAME;

export const isServiceRunning = (database: Database, source: string): Promise<boolean> =>
  isConnected(database.kysely, [NAME, nameOf(source)]);
