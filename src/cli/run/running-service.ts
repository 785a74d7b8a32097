import type { Database } from '../../warehouse/database/database.ts';
import { isConnected } from '../../warehouse/reports/report.ts';
import type { Session } from '../cli.ts';

const NAME = 'sluice start';
const nameOf = (source: string): string => `${NAME} ${source}`.slice(0, 63);

/** The name of the service's database connections, by which other commands know that it runs: of one source, or of all. */
export const serviceName = ({ settings: { sources } }: Session): string =>
  sources.length === 1 && sources[0] ? nameOf(sources[0].name) : NAME;

export const isServed = (database: Database, source: string): Promise<boolean> =>
  isConnected(database.kysely, [NAME, nameOf(source)]);
