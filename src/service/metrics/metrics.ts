import { Counter, Gauge, Registry } from 'prom-client';
import type { Database } from '../../warehouse/database/database.ts';
import type { RowCounts } from '../status/row-counts.ts';
import { mapSources, type ServedSource } from '../status/served-source.ts';
import { readStates, type SourceState } from '../status/source-state.ts';
import { WEBHOOK_RESULTS, type WebhookResult } from '../webhooks/webhook-receiver.ts';
import { measureSource } from './measure-source.ts';
import { METRICS } from './metric-definitions.ts';

export interface Metrics {
  readonly contentType: string;
  /** Concurrent scrapes share one look at the database. */
  scrape(): Promise<string>;
  countWebhook(result: WebhookResult): void;
}

export function createMetrics(options: {
  database: Database;
  sources: readonly ServedSource[];
  rowCounts: RowCounts;
}): Metrics {
  const { database, sources, rowCounts } = options;
  const registry = new Registry();
  const gauges = new Map<string, Gauge>();
  for (const [name, [help, ...labelNames]] of Object.entries(METRICS)) {
    if (name.endsWith('_total')) continue;
    gauges.set(name, new Gauge({ name, help, labelNames, registers: [registry] }));
  }
  const name = 'sluice_webhooks_received_total';
  const received = new Counter({ name, help: METRICS[name][0], labelNames: ['result'], registers: [registry] });
  // Prometheus misses the first increase of a series that does not start at 0.
  for (const result of WEBHOOK_RESULTS) received.inc({ result }, 0);

  const measureAll = async () => {
    const states = await readStates(database, sources, {
      isServed: true,
      countRows: rowCounts,
      onUnreadable: (_, error) => {
        throw error;
      },
    });
    const measured = await mapSources(sources, (source, place) =>
      measureSource(database, source, states[place] as SourceState),
    );
    return measured.flat();
  };
  let scraping: Promise<string> | undefined;
  return {
    contentType: registry.contentType,
    countWebhook: result => received.inc({ result }),
    scrape() {
      scraping ??= measureAll()
        .then(measured => {
          for (const gauge of gauges.values()) gauge.reset();
          for (const { name, labels, value } of measured) gauges.get(name)?.set(labels, value);
          return registry.metrics();
        })
        .finally(() => {
          scraping = undefined;
        });
      return scraping;
    },
  };
}
