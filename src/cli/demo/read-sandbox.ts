import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { HOUR, SECOND } from '../../clock.ts';
import type { SourceSettings } from '../../config/config.ts';
import { MOST_SWEEPS } from '../../engine/agenda/list-facts.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { OrderKind } from '../../warehouse/ledgers/orders.ts';
import { createProgress } from '../output/progress.ts';
import { completeOrders, type OrderResult } from '../run/complete-orders.ts';
import { openSourceEngine } from '../run/open-source-engine.ts';
import { type OrderSummary, summarise } from '../run/summary.ts';
import type { Session } from '../session/session.ts';
import type { OpenSource } from '../session/source-settings.ts';

export interface Demo {
  readonly session: Session;
  readonly sandbox: Sandbox;
  readonly database: Database;
  /** Of the database, with its password. */
  readonly url: string;
}

/** Completes an order of this kind for every resource. `equal`: the order found no difference. */
export async function readSandbox(demo: Demo, kind: OrderKind): Promise<(OrderSummary & { equal: boolean })[]> {
  const { session, sandbox, database } = demo;
  const { terminal, clock, log, signal, jobs } = session;
  const settings: SourceSettings = {
    url: sandbox.url,
    apiKey: sandbox.apiKey,
    auth: 'bearer',
    pageSize: 'auto',
    limit: 1000,
    windowMs: HOUR,
    concurrency: 4,
    timeoutMs: 30 * SECOND,
    // The sandbox answers with its latest state.
    lagMs: 0,
    never: [],
    timeZone: 'UTC',
  };
  const source: OpenSource = {
    ...settings,
    name: 'main',
    schema: 'warehouse',
    addressFile: null,
    settings,
    schedules: {},
    scheduleTimeZone: 'UTC',
    weights: {},
    targetMinutes: {},
    history: {},
    currency: null,
    mostSweeps: MOST_SWEEPS,
  };
  const { retention } = session.settings;
  const bars = createProgress({ terminal, clock });
  const progress = bars.of(null, 'UTC');
  const { onEvent } = progress;
  const results = await completeOrders(
    {
      command: session.command,
      ...{ terminal, database, source: source.name, timeZone: source.timeZone, clock, signal, noWait: true, progress },
      isServiceRunning: async () => false,
      openEngine: () => openSourceEngine({ database, source, jobs, retention, clock, log, noWait: true, onEvent }),
    },
    [...jobs.keys()].map(resource => ({ resource, kind })),
  ).finally(() => bars.stop());
  return results.map(each => ({ ...summarise(each), equal: isEqual(each) }));
}

function isEqual({ order }: OrderResult): boolean {
  const report = (order.report ?? {}) as Record<string, readonly string[]>;
  return order.state === 'done' && Object.values(report).every(keys => keys.length === 0);
}
