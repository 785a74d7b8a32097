import pc from 'picocolors';
import { table } from '../../src/cli/output/table.ts';
import { describeValue, type Finding } from './findings/finding.ts';
import type { Report } from './probe.ts';

/** 100 columns, including the gaps. */
const WIDTHS = { 0: 19, 1: 17, 2: 38, 3: 20 };

/** The report for people: a table of all points, followed by a summary. */
export function formatReport({ findings, requests, written, stopped, ok }: Report, origin: string): string {
  const rows = findings.map(finding => [
    pointOf(finding),
    finding.seen === null ? 'not determined' : finding.seen.replaceAll('|', ' or '),
    evidenceOf(finding),
    finding.handled ?? '',
  ]);
  const colors = pc.createColors(false);
  const drawn = table(colors, ['point', 'seen', 'evidence', 'handled by Sluice'], rows, { wrap: WIDTHS });
  const not = findings.filter(({ handled }) => handled?.startsWith('not'));
  const determined = findings.filter(({ seen }) => seen !== null).length;
  return [
    drawn,
    '',
    ...written.created.map(
      customer => `Created: ${customer}${written.left.includes(customer) ? '' : ', and deleted'}.`,
    ),
    ...written.left.map(customer => `NOT REMOVED: ${customer}. Check its name and delete it by hand.`),
    ...written.notOurs.map(
      customer => `NOT OURS: ${customer}, although an answer to a create returned its id. It was not touched.`,
    ),
    ...(stopped ? [`Not all checks ran: ${stopped}.`] : []),
    `${requests} requests to ${origin}; ${determined} of ${findings.length} points determined.`,
    ok ? 'Sluice handles everything found.' : `Not handled: ${not.map(pointOf).join('; ') || 'nothing found'}.`,
  ].join('\n');
}

const pointOf = ({ point, lists }: Finding) => (lists ? `${point}: ${lists.join(', ')}` : point);

function evidenceOf({ point, seen, evidence }: Finding): string {
  const description = seen === null ? undefined : describeValue(point, seen);
  return description === undefined ? evidence : `${description} (${evidence})`;
}
