import { parcelsOf } from '../engine/push.ts';
import type { Line, Problem } from '../engine/push-lines.ts';
import type { PushTarget } from '../engine/push-targets.ts';
import { count, plural } from '../service/words.ts';
import type { PushItem, PushState } from '../warehouse/pushes.ts';
import type { Outcome } from './cli.ts';
import type { Terminal } from './terminal.ts';

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

/** What a push would send. */
export function showPlan(
  terminal: Terminal,
  plan: {
    source: string;
    resource: string;
    path: string;
    lines: readonly Line[];
    states: ReadonlyMap<string, PushState>;
    target: PushTarget;
    /** There is a list to read back. */
    listed: boolean;
    batch: number;
    resendUnknown?: boolean;
  },
): Outcome {
  const { source, resource, path, lines, states, target, listed, resendUnknown = false } = plan;
  const stateOf = (line: Line) => states.get(`${line.hash} ${line.ordinal}`);
  const isUnknown = (line: Line) => ['sent', 'unknown'].includes(stateOf(line) ?? '');
  const created = lines.filter(line => stateOf(line) === 'created').length;
  const unknown = resendUnknown && !listed ? 0 : lines.filter(isUnknown).length;
  const toSend = lines.filter(line => stateOf(line) !== 'created' && (unknown === 0 || !isUnknown(line)));
  const parcels = parcelsOf(target, toSend, plan.batch);
  const batches = parcels.filter(parcel => parcel.batch).length;
  const single = parcels.length - batches;
  const document = {
    dryRun: true,
    source,
    resource,
    file: path,
    lines: lines.length,
    toSend: toSend.length,
    requests: parcels.length,
    batches,
    created,
    unknown,
    readBack: listed,
  };
  terminal.show(document, () =>
    [
      `${path}: ${plural(lines.length, 'line')}, and every one can be sent. Nothing was sent.`,
      `  ${count(toSend.length)} would be created at source ${source}, with ${plural(parcels.length, 'request')}${
        batches > 0 ? ` (${batches} of them with up to ${plan.batch} lines, ${single} with one)` : ''
      }`,
      ...(created > 0 ? [`  ${count(created)} are created already, and would not be sent`] : []),
      ...(unknown > 0 ? [`  ${count(unknown)} may be created already: ${unknownFate(listed)}`] : []),
      listed
        ? `After that ${resource} are synced, so that what was created is in the warehouse; that takes requests, too.`
        : `The API has no list of ${resource}, so nothing can be read back.`,
      `Send it: sluice push ${resource} ${path} --yes`,
    ].join('\n'),
  );
  return 0;
}

const unknownFate = (listed: boolean): string =>
  listed
    ? 'looked for at the source, and sent if they are not there'
    : 'that cannot be looked for, so they would be sent only with --resend-unknown';

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
