import type { Problem } from '../../push/lines.ts';
import { count, plural } from '../../service/format.ts';
import type { PushItem, PushState } from '../../warehouse/pushes/pushes.ts';
import type { Outcome } from '../cli.ts';
import type { Terminal } from '../output/terminal.ts';

/** Of what went wrong after sending; `--json` has all of it. */
const MOST_SHOWN = 50;

/** Names every bad line. */
export function showProblems(
  terminal: Terminal,
  { file, resource, good, problems }: { file: string; resource: string; good: number; problems: readonly Problem[] },
): Outcome {
  const message = `${file}: ${plural(problems.length, 'line')} of ${count(good + problems.length)} cannot be sent to ${resource}, so nothing was sent.`;
  terminal.show({ error: { kind: 'failed', message }, file, resource, problems }, () =>
    [message, ...problems.map(({ line, reason }) => `  line ${line}: ${reason}`)].join('\n'),
  );
  return 1;
}

/** A push as it ended. */
export interface Pushed {
  readonly source: string;
  readonly resource: string;
  readonly file: string;
  readonly items: readonly PushItem[];
  /** Spent on creating. */
  readonly requests: number;
  readonly listed: boolean;
}

/** What was created, what was not, and what could not be told. */
export function showPushed(terminal: Terminal, pushed: Pushed): Outcome {
  const { source, resource, file, items, requests, listed } = pushed;
  const told = (state: PushState) =>
    items
      .filter(item => item.state === state)
      .map(({ line, message }) => ({ line, message: message ?? 'no reason was given' }));
  const created = items.filter(item => item.state === 'created');
  const refused = told('refused');
  const unknown = told('unknown');
  const unseen = listed
    ? created.filter(item => item.rowKey === null).map(({ line, sourceId }) => ({ line, id: sourceId }))
    : [];
  const good = refused.length + unknown.length + unseen.length === 0;
  const summary = `${file}: ${count(created.length)} of ${plural(items.length, 'line')} created, with ${plural(requests, 'request')} in this run.`;
  const document = {
    source,
    resource,
    file,
    lines: items.length,
    created: created.length,
    inWarehouse: listed ? created.length - unseen.length : null,
    requests,
    refused,
    unknown,
    unseen,
    ...(good ? {} : { error: { kind: 'failed', message: summary } }),
  };
  terminal.show(document, () =>
    [
      summary,
      listed
        ? `  ${count(created.length - unseen.length)} of them are in the warehouse.`
        : `  The API has no list of ${resource}, so what was created cannot be read back.`,
      ...section(`refused by the source; the next push tries them again:`, refused),
      ...section(
        'could not be told; look in the source, or send again what is not there with --resend-unknown:',
        unknown,
      ),
      ...section(
        'created by what the source said, but not shown by it:',
        unseen.map(({ line, id }) => ({ line, message: id === null ? 'no id was given' : `id ${id}` })),
      ),
    ].join('\n'),
  );
  return good ? 0 : 1;
}

function section(title: string, lines: readonly { line: number; message: string }[]): string[] {
  if (lines.length === 0) return [];
  const shown = lines.slice(0, MOST_SHOWN).map(({ line, message }) => `  line ${line}: ${message}`);
  const more = lines.length - shown.length;
  return [
    `${plural(lines.length, 'line')} ${title}`,
    ...shown,
    ...(more > 0 ? [`  and ${count(more)} more (all of them: --json)`] : []),
  ];
}
