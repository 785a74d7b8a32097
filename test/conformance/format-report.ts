import pc from 'picocolors';
import { table } from '../../src/cli/output/table.ts';
import { type Finding, meaning } from './findings/finding.ts';
import type { Report } from './probe.ts';

/** 100 columns with the gaps between them. */
const WIDTHS = { 0: 19, 1: 17, 2: 38, 3: 20 };

/** The report for people: one line a point, what is not handled named again below. */
export function showReport({ findings, requests, written, stopped, ok }: Report, origin: string): string {
  const rows = findings.map(finding => [
    pointOf(finding),
    finding.seen === null ? 'could not be told' : finding.seen.replaceAll('|', ' or '),
    textOf(finding),
    finding.handled ?? '',
  ]);
  const colors = pc.createColors(false);
  const drawn = table(colors, ['point', 'seen', 'by what', 'handled by Sluice'], rows, { wrap: WIDTHS });
  const not = findings.filter(({ handled }) => handled?.startsWith('not'));
  const told = findings.filter(({ seen }) => seen !== null).length;
  return [
    drawn,
    '',
    ...written.created.map(what => `Created: ${what}${written.left.includes(what) ? '' : ', and deleted again'}.`),
    ...written.left.map(what => `NOT REMOVED: ${what}. Delete it by hand if that is its name.`),
    ...written.notOurs.map(what => `NOT OURS: ${what}, though an answer to a create named it. It was not touched.`),
    ...(stopped ? [`Not all was asked: ${stopped}.`] : []),
    `${requests} requests to ${origin}; ${told} of ${findings.length} points told.`,
    ok ? 'All that was seen is handled.' : `Not handled: ${not.map(pointOf).join('; ') || 'nothing that was seen'}.`,
  ].join('\n');
}

const pointOf = ({ point, lists }: Finding) => (lists ? `${point}: ${lists.join(', ')}` : point);

function textOf({ point, seen, evidence }: Finding): string {
  const means = seen === null ? undefined : meaning(point, seen);
  return means === undefined ? evidence : `${means} (${evidence})`;
}
