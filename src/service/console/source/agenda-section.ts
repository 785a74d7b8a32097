import { html } from 'hono/html';
import { SECOND } from '../../../clock.ts';
import { count, durationText, plural, shortDuration } from '../../format.ts';
import type { ShownAgenda, ShownQuestion } from '../../status/next-questions.ts';
import type { Html } from '../layout/html.ts';

/** What is asked next, and why. `secondsPerRequest`: at the pace of the limit. */
export function agendaSection({ questions, unread }: ShownAgenda, secondsPerRequest: number): Html {
  if (questions.length === 0)
    return html`<p class="soft">Nothing yet: the agenda lists what was read in full at least once.</p>`;
  let before = 0;
  const rows = questions.map(question => {
    const row = questionRow(question, before * secondsPerRequest);
    before += question.requests;
    return row;
  });
  return html`<table><caption class="sr">The next questions</caption><thead><tr><th scope="col" class="num">in</th><th scope="col">question, and why</th><th scope="col" class="num">cost</th></tr></thead>
<tbody>${rows}</tbody></table>${unread.length > 0 ? html`<p class="soft after">Never read in full: ${unread.join(', ')}.</p>` : ''}`;
}

function questionRow(
  { resource, question, requests, ageSeconds, changesAnHour, why }: ShownQuestion,
  inSeconds: number,
): Html {
  const rate = changesAnHour >= 0.1 ? `; ${changesAnHour.toFixed(1)} changes an hour` : '';
  return html`<tr><td class="soft num">${inSeconds < 1 ? 'now' : shortDuration(inSeconds * SECOND)}</td>
<td><b>${resource}: ${question}</b><br><span class="soft">${why}; last asked ${durationText(ageSeconds)} ago${rate}</span></td>
<td class="num">${plural(Math.round(requests), 'request')}</td></tr>`;
}

/** `8 of 1,204 questions`. */
export const agendaNote = ({ questions, more }: ShownAgenda): string =>
  `${count(questions.length)} of ${plural(questions.length + more, 'question')}`;
