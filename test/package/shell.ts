import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/** What the command prints; throws with all of it if it does not end with `expected`. */
export async function shell(cwd: string, command: string, env = process.env, expected = 0): Promise<string> {
  const child = spawn('sh', ['-c', command], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  if (child.exitCode !== expected) throw new Error(`${command} ended with ${child.exitCode}:\n${stdout}${stderr}`);
  return stdout;
}

/** Starts a sandbox, a process group of its own; the address at which it listens. */
export async function startSandbox(cwd: string, command: string, env = process.env) {
  const child = spawn('sh', ['-c', command], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await new Promise<string>((resolve, reject) => {
    let printed = '';
    child.stdout.on('data', chunk => {
      printed += String(chunk);
      const [, found] = /listens at (\S+)/.exec(printed) ?? [];
      if (found !== undefined) resolve(found);
    });
    child.once('exit', () => reject(new Error(`${command} ended:\n${printed}`)));
  });
  return { url, stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  process.kill(-(child.pid as number), 'SIGTERM');
  await once(child, 'exit');
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
