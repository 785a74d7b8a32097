import { sourceOption } from '../../next-steps.ts';
import type { Line } from '../../push/check-lines.ts';
import { type PushTarget, groupRequests } from '../../push/targets.ts';
import { count, plural } from '../../service/format.ts';
import type { PushState } from '../../warehouse/pushes/pushes.ts';
import type { Outcome } from '../session/session.ts';
import type { Terminal } from '../session/terminal.ts';

/** Lines per batch by default. The API documents no maximum. */
export const BATCH = 100;

/** Prints what a push would send. */
export function showPlan(
  terminal: Terminal,
  plan: {
    source: string;
    resource: string;
    path: string;
    lines: readonly Line[];
    states: ReadonlyMap<string, PushState>;
    target: PushTarget;
    /** The API has a list of them, so created records can be read back. */
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
  const parcels = groupRequests(target, toSend, plan.batch);
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
      `${path}: ${plural(lines.length, 'line')}, all valid. Dry run: nothing was sent.`,
      `  ${count(toSend.length)} would be created at source ${source}, with ${plural(parcels.length, 'request')}${
        batches > 0 ? ` (${batches} with up to ${plan.batch} lines, ${single} with one)` : ''
      }`,
      ...(created > 0
        ? [`  ${count(created)} ${created === 1 ? 'is' : 'are'} already created and would not be sent`]
        : []),
      ...(unknown > 0 ? [`  ${count(unknown)} may already be created: ${unknownFate(listed)}`] : []),
      ...(toSend.length + unknown === 0
        ? ['Nothing is left to send.']
        : [
            listed
              ? `Afterwards ${resource} are synced, which costs further requests, so that the created records are in the warehouse.`
              : `The API has no list of ${resource}, so created records cannot be read back.`,
            `To send: sluice push ${resource} ${path} --yes${optionsAgain(plan)}`,
          ]),
    ].join('\n'),
  );
  return 0;
}

const optionsAgain = ({ source, batch, resendUnknown }: { source: string; batch: number; resendUnknown?: boolean }) =>
  `${batch === BATCH ? '' : ` --batch ${batch}`}${resendUnknown ? ' --resend-unknown' : ''}${sourceOption(source)}`;

const unknownFate = (listed: boolean): string =>
  listed
    ? 'would be looked up at the source, and sent if absent'
    : 'cannot be looked up, so they are sent only with --resend-unknown';
