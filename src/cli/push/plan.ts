import type { Line } from '../../push/lines.ts';
import { parcelsOf } from '../../push/push.ts';
import type { PushTarget } from '../../push/targets.ts';
import { count, plural } from '../../service/format.ts';
import { sourceOption } from '../../warehouse/ledgers/sources.ts';
import type { PushState } from '../../warehouse/pushes/pushes.ts';
import type { Outcome } from '../cli.ts';
import type { Terminal } from '../output/terminal.ts';

/** How many entries a batch may hold is not documented. */
export const BATCH = 100;

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
      ...(toSend.length + unknown === 0
        ? ['Nothing is left to send.']
        : [
            listed
              ? `After that ${resource} are synced, so that what was created is in the warehouse; that takes requests, too.`
              : `The API has no list of ${resource}, so nothing can be read back.`,
            `Send it: sluice push ${resource} ${path} --yes${optionsAgain(plan)}`,
          ]),
    ].join('\n'),
  );
  return 0;
}

const optionsAgain = ({ source, batch, resendUnknown }: { source: string; batch: number; resendUnknown?: boolean }) =>
  `${batch === BATCH ? '' : ` --batch ${batch}`}${resendUnknown ? ' --resend-unknown' : ''}${sourceOption(source)}`;

const unknownFate = (listed: boolean): string =>
  listed
    ? 'looked for at the source, and sent if they are not there'
    : 'that cannot be looked for, so they would be sent only with --resend-unknown';
