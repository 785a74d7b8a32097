import { html } from 'hono/html';
import { stampMs } from '../../../warehouse/database/stamp.ts';
import type { Incident } from '../../../warehouse/ledgers/incidents.ts';
import { INCIDENT_TITLES } from '../../status/condition.ts';
import { age, type Html, icon, type Now, nextStep } from '../elements.ts';

/** Open incidents, each with its next step. From the second on they are folded, so that a phone shows the sources too. */
export function incidentList(incidents: readonly Incident[], now: Now, hide: (text: string) => string): Html | string {
  const [first, ...others] = incidents;
  if (first === undefined) return '';
  const rows = (each: readonly Incident[]) =>
    html`<ul class="trouble">${each.map(incident => incidentRow(incident, now, hide))}</ul>`;
  return html`<section aria-label="Open incidents">${rows([first])}
${others.length > 0 ? html`<details><summary>${others.length} more open ${others.length === 1 ? 'incident' : 'incidents'}</summary>${rows(others)}</details>` : ''}</section>`;
}

function incidentRow(
  { source, resource, kind, openedAt, message, next }: Incident,
  now: Now,
  hide: (text: string) => string,
): Html {
  const where = resource === null ? source : `${resource} of ${source}`;
  return html`<li>${icon(kind === 'fuse' ? 'warn' : 'bad', kind === 'fuse' ? 'warn' : 'bad')}<div><h2>${where}: ${INCIDENT_TITLES[kind]} <span class="soft">· for ${age(stampMs(openedAt), now)}</span></h2><p>${hide(message)}</p></div>
<div>${next ? html`<p class="soft">What to do:</p>${nextStep(hide(next))}` : ''}</div></li>`;
}
