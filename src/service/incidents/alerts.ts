import { SECOND } from '../../clock.ts';
import { stampMs } from '../../warehouse/database/stamp.ts';
import type { Incident } from '../../warehouse/ledgers/incidents.ts';

const TIMEOUT_MS = 10 * SECOND;
/** What each kind of incident is called in front of people. */
export const TITLES: Readonly<Record<Incident['kind'], string>> = {
  failed: 'run failed',
  fuse: 'deletions held back',
  unauthorized: 'API key rejected',
  unavailable: 'source does not answer',
  outdated: 'data is stale',
};

/**
 * What is posted: `text`, which Slack, Mattermost, Rocket.Chat and whatever else takes Slack's incoming webhooks show, and the
 * same as fields of an attachment. `hide` takes secrets out of what a source may have said.
 */
export function alertOf(incident: Incident, hide: (text: string) => string): object {
  const { source, resource, kind, message, next, openedAt, endedAt } = incident;
  const over = endedAt !== null;
  const whose = resource === null ? source : `${source}, ${resource}`;
  const title = `${over ? 'Over' : 'Sluice'}: ${TITLES[kind]} (${whose})`;
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
    text: plain(hide(lines.join('\n'))),
    attachments: [
      {
        color: over ? 'good' : kind === 'outdated' ? 'warning' : 'danger',
        fields: fields.map(([title, value = '']) => ({ title, value: plain(hide(value)), short: true })),
      },
    ],
  };
}

/** Posts one alert; rejects when it was not taken, or as soon as `stopping` aborts. */
export async function postAlert(url: string, alert: object, stopping: AbortSignal): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(alert),
    redirect: 'error',
    // On Node 20 each stays in memory for as long as the process; alerts are few.
    signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), stopping]),
  }).catch((error: Error & { cause?: Error & { code?: string } }) => {
    // Whatever it is, fetch says "fetch failed".
    const why = error.cause?.message || error.cause?.code || error.message;
    throw new Error(`ALERT_WEBHOOK_URL cannot be asked: ${why}`, { cause: error });
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`ALERT_WEBHOOK_URL answered with HTTP ${response.status}`);
}

/** Slack's own signs: a message of the source calls nobody to the channel, and links nowhere. */
const plain = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const iso = (stamp: string): string => new Date(stampMs(stamp)).toISOString();
