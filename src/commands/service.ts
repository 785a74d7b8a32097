import type { Database } from '../warehouse/database.ts';
import { isConnected } from '../warehouse/report.ts';
import type { Session } from './cli.ts';

/** The name of the service's database connections, by which other commands know that it runs. */
export const serviceName = ({ settings }: Session): string => `sluice start ${settings.sourceName}`.slice(0, 63);

export const isServed = (session: Session, database: Database): Promise<boolean> =>
  isConnected(database.kysely, serviceName(session));
