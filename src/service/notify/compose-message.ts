import type { Form } from '../../receivers.ts';
import { visibleText } from '../../visible-text.ts';
import type { BatchLimit, Found } from './take-batch.ts';

/** What one message may hold, as `sentBytes` counts. Slack takes 40,000 characters, Teams 28 KB. */
export const LIMITS: Readonly<Record<Form, BatchLimit>> = {
  standard: { changes: 100, bytes: 255 * 1024 },
  slack: { changes: 20, bytes: 16 * 1024 },
  teams: { changes: 20, bytes: 16 * 1024 },
};

/** The body of a message: JSON, in which the numbers of a change stay as exact as Postgres wrote them. */
export function composeMessage(form: Form, source: string, changes: readonly Found[]): string {
  if (form === 'standard')
    return `{"type":"changes","source":${JSON.stringify(source)},"changes":[${changes.map(({ data }) => data).join()}]}`;
  const title = `${source}: ${changes.length} ${changes.length === 1 ? 'change' : 'changes'}`;
  return chatMessage(
    form,
    title,
    changes.map(({ data }) => visibleText(data)),
  );
}

/** How much a change adds to a message: in those of chats, what is escaped counts several times. */
export function sentBytes(form: Form, data: string): number {
  if (form === 'standard') return Buffer.byteLength(data);
  const line = visibleText(data);
  return Buffer.byteLength(JSON.stringify(form === 'slack' ? escapeSlack(line) : textBlock(line)));
}

/** One that says nothing but that it arrived. */
export const composeTest = (form: Form, source: string): string =>
  form === 'standard'
    ? JSON.stringify({ type: 'test', source })
    : chatMessage(form, `${source}: a test of sluice notify`, []);

/** So that a message of the source mentions nobody in the channel and links nowhere. */
export const escapeSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** The runs of a RichTextBlock are shown as they are: a TextBlock would read Markdown, and so links, in them. */
const textBlock = (text: string, style = {}) => ({
  type: 'RichTextBlock',
  inlines: [{ type: 'TextRun', text, ...style }],
});

function chatMessage(form: 'slack' | 'teams', title: string, lines: readonly string[]): string {
  if (form === 'slack') return JSON.stringify({ text: [title, ...lines].map(escapeSlack).join('\n'), mrkdwn: false });
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [textBlock(title, { weight: 'Bolder' }), ...lines.map(line => textBlock(line))],
  };
  const attachment = { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content };
  return JSON.stringify({ type: 'message', attachments: [attachment] });
}
