import { withAnySignal } from '../../any-signal.ts';
import { SECOND, stampMs } from '../../clock.ts';
import type { Incident } from '../../warehouse/ledgers/incidents.ts';
import { INCIDENT_TITLES } from '../status/condition.ts';

/**
 * The body of an alert: `text`, which everything that accepts Slack's incoming webhooks shows, and the same facts as fields of an
 * attachment. `hide` removes secrets from what a source may have said.
 */
export function composeAlert(incident: Incident, hide: (text: string) => string): object {
  const { source, resource, kind, message, next, openedAt, endedAt } = incident;
  const over = endedAt !== null;
  const subject = resource === null ? source : `${source}, ${resource}`;
  const title = `${over ? 'Resolved' : 'Sluice'}: ${INCIDENT_TITLES[kind]} (${subject})`;
  const fields = [
    ['state', over ? 'over' : 'open'],
    ['kind', kind],
    ['source', source],
    ...(resource === null ? [] : [['resource', resource]]),
    ['since', iso(openedAt)],
    ...(over ? [['until', iso(endedAt)]] : []),
    ['incident', incident.id],
  ];
  const lines = over ? [title, `It was: ${message}`] : [title, message, ...(next ? [next] : [])];
  return {
    text: escapeSlack(hide(lines.join('\n'))),
    attachments: [
      {
        color: over ? 'good' : kind === 'outdated' ? 'warning' : 'danger',
        fields: fields.map(([title, value = '']) => ({ title, value: escapeSlack(hide(value)), short: true })),
      },
    ],
  };
}

/** So that a message of the source mentions nobody in the channel and links nowhere. */
const escapeSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const iso = (stamp: string): string => new Date(stampMs(stamp)).toISOString();

const TIMEOUT_MS = 10 * SECOND;

/** Posts one alert. Rejects when it was not accepted, or as soon as `stopping` aborts. */
export async function deliverAlert(url: string, alert: object, stopping: AbortSignal): Promise<void> {
  const response = await withAnySignal([AbortSignal.timeout(TIMEOUT_MS), stopping], ({ signal }) =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(alert),
      redirect: 'error',
      signal,
    }),
  ).catch((error: Error & { cause?: Error & { code?: string } }) => {
    // The error itself always says "fetch failed".
    const why = error.cause?.message || error.cause?.code || error.message;
    throw new Error(`Cannot reach ALERT_WEBHOOK_URL: ${why}`, { cause: error });
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`ALERT_WEBHOOK_URL answered HTTP ${response.status}`);
}
