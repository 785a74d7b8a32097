import type { Variants } from '../../../sandbox/variants/variants.ts';
import { EXCLUDED } from '../../simulation/plan/choose-variants.ts';
import type { Finding } from './finding.ts';

/** Marks combinations of behaviours that Sluice cannot handle together, although it handles each alone; the simulation excludes the same ones. */
export function applyExclusions(findings: readonly Finding[]): Finding[] {
  const seen = Object.fromEntries(findings.flatMap(({ point, seen }) => (seen === null ? [] : [[point, seen]])));
  const exclusions = EXCLUDED.filter(
    ({ when, also }) =>
      Object.entries(when).every(([point, value]) => isSeen(findings, point, value)) && (also?.(seen) ?? true),
  );
  return findings.map(finding => {
    const exclusion = exclusions.find(
      ({ when }) => finding.seen !== null && when[finding.point as keyof Variants] === finding.seen,
    );
    if (!exclusion || finding.handled !== 'yes') return finding;
    const others = Object.entries(exclusion.when).filter(([point]) => point !== finding.point);
    // No client could detect this, so it is reported as a property of the source.
    if (others.length === 0) return { ...finding, evidence: `${finding.evidence}; ${exclusion.why}` };
    const combination = others.map(([point, value]) => `${point}=${value}`).join(', ');
    return { ...finding, handled: `not: with ${combination} ${exclusion.why}` };
  });
}

const isSeen = (findings: readonly Finding[], point: string, value: string): boolean =>
  findings.some(finding => finding.point === point && finding.seen === value);

/** Reports lists that the source offers and no job reads. */
export function checkUnreadLists(offered: readonly string[], jobs: readonly string[]): Finding[] {
  const unread = offered.filter(name => !jobs.includes(name));
  if (unread.length === 0) return [];
  const evidence = 'the list answers, but jobs/ has no file for it';
  return [{ point: 'jobs', lists: unread, seen: 'none', evidence, handled: 'not: no job reads it' }];
}
