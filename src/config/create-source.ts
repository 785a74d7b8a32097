import { SECOND } from '../clock.ts';
import type { SourceConfig } from './config.ts';
import type { ResourceSettings } from './resource-settings.ts';
import type { SourceValues } from './schema.ts';

/** The frozen settings of one source. */
export function createSource(
  data: SourceValues,
  own: { name: string; apiKey: string | undefined; addressFile: string | null } & ResourceSettings,
): SourceConfig {
  const { SOURCE_URL: url, SOURCE_TIMEZONE: timeZone } = data;
  const { name, apiKey, addressFile, schedules, weights, targetMinutes, history } = own;
  const limits = { limit: data.SOURCE_RATE_LIMIT, windowMs: data.SOURCE_RATE_WINDOW_SECONDS * SECOND };
  const settings = {
    auth: data.SOURCE_AUTH,
    pageSize: data.SOURCE_PAGE_SIZE,
    ...limits,
    concurrency: data.SOURCE_CONCURRENCY,
    timeoutMs: data.SOURCE_TIMEOUT_SECONDS * SECOND,
    lagMs: data.SOURCE_LAG_SECONDS * SECOND,
    never: data.SOURCE_NEVER,
    timeZone,
  };
  return Object.freeze({
    name,
    schema: data.WAREHOUSE_SCHEMA,
    addressFile,
    timeZone,
    settings: url && apiKey ? Object.freeze({ url, apiKey, ...settings }) : null,
    ...limits,
    schedules,
    scheduleTimeZone: data.SCHEDULE_TIMEZONE,
    weights,
    targetMinutes,
    history,
    currency: data.SOURCE_CURRENCY ?? null,
    mostSweeps: data.FRESHNESS_MOST_SWEEPS,
  });
}
