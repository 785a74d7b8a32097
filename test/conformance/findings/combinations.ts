import type { Variants } from '../../../src/sandbox/variants/variants.ts';
import { EXCLUDED } from '../../simulation/choose-variants.ts';
import type { Finding } from './finding.ts';

/** Behaviours that Sluice is right under alone, but not together: the same list that its simulation leaves out. */
export function judgeTogether(findings: readonly Finding[]): Finding[] {
  const limit = EXCLUDED.filter(({ when }) =>
    Object.entries(when).every(([point, value]) => isSeen(findings, point, value)),
  );
  return findings.map(finding => {
    const hit = limit.find(
      ({ when }) => finding.seen !== null && when[finding.point as keyof Variants] === finding.seen,
    );
    if (!hit || finding.handled !== 'yes') return finding;
    const others = Object.entries(hit.when).filter(([point]) => point !== finding.point);
    // What no client could tell by any means is the source's own, and said.
    if (others.length === 0) return { ...finding, evidence: `${finding.evidence}; ${hit.why}` };
    const beside = others.map(([point, value]) => `${point}=${value}`).join(', ');
    return { ...finding, handled: `not: with ${beside} ${hit.why}` };
  });
}

const isSeen = (findings: readonly Finding[], point: string, value: string): boolean =>
  findings.some(finding => finding.point === point && finding.seen === value);

/** Lists that were offered, and that no job of this Sluice reads. */
export function judgeUnread(offered: readonly string[], jobs: readonly string[]): Finding[] {
  const unread = offered.filter(name => !jobs.includes(name));
  if (unread.length === 0) return [];
  const evidence = 'the list answers, and there is no file of its name in jobs/';
  return [{ point: 'jobs', lists: unread, seen: 'none', evidence, handled: 'not: nothing reads it' }];
}
