import { readFileSync } from 'node:fs';

/** CPU seconds of a process since it began, by Linux's count; 0 when it is gone. */
export function cpuSeconds(pid: number): number {
  const [own] = times(pid);
  return own;
}

/** The same of a Postgres server: its sessions come and go, and those that went are counted with their parent. */
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

/** Memory of a Postgres server in MB, what its sessions share counted once. Needs root, or the server's user. */
export function serverMb(postmaster: number): number {
  const pss = (pid: number) => Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) / 1024;
  return [postmaster, ...children(postmaster)].reduce((sum, pid) => sum + pss(pid), 0);
}

/** Its own, and that of its children that ended. A tick is a hundredth of a second on every Linux. */
function times(pid: number): [own: number, ended: number] {
  const stat = read(`/proc/${pid}/stat`);
  // The name before the parenthesis may hold spaces.
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
