import { readFileSync } from 'node:fs';

/** CPU seconds that a process has used so far (Linux); 0 if it has ended. */
export function cpuSeconds(pid: number): number {
  const [own] = times(pid);
  return own;
}

/** CPU seconds of a Postgres server. Ended sessions are counted with their parent. */
export function serverCpuSeconds(postmaster: number): number {
  const [own, ended] = times(postmaster);
  return own + ended + children(postmaster).reduce((sum, pid) => sum + cpuSeconds(pid), 0);
}

/** Resident memory now and at its peak, in MB. */
export function residentMb(pid: number): { now: number; peak: number } {
  const status = read(`/proc/${pid}/status`);
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0) / 1024;
  return { now: field('VmRSS'), peak: field('VmHWM') };
}

/** Memory of a Postgres server in MB, shared memory counted once. Needs root or the user of the server. */
export function serverMb(postmaster: number): number {
  const pss = (pid: number) => Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) / 1024;
  return [postmaster, ...children(postmaster)].reduce((sum, pid) => sum + pss(pid), 0);
}

/** CPU seconds of the process and of its ended children. A clock tick is 10 ms on every Linux. */
function times(pid: number): [own: number, ended: number] {
  const stat = read(`/proc/${pid}/stat`);
  // The process name before the parenthesis may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15).map(Number);
  return [(user + system) / 100, (endedUser + endedSystem) / 100];
}

const children = (pid: number): number[] =>
  read(`/proc/${pid}/task/${pid}/children`)
    .split(' ')
    .filter(text => text.trim() !== '')
    .map(Number);

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
