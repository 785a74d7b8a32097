import type { Database } from '../../src/warehouse/database/database.ts';
import { until } from '../cli/run-command.ts';

/** Resolves once a session of this name waits for a lock. */
export const untilBlocked = (database: Database, applicationName: string): Promise<void> =>
  until(async () => {
    const { rows } = await database.query(
      `select from pg_stat_activity where datname = current_database() and application_name = $1 and wait_event_type = 'Lock'`,
      [applicationName],
    );
    return rows.length > 0;
  });
