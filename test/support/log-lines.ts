import { Writable } from 'node:stream';
import { createLog, type Log } from '../../src/log.ts';

/** A log that keeps its lines, each as JSON. */
export function createLogLines(level: 'info' | 'warn'): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const destination = new Writable({
    write(line, _encoding, done) {
      lines.push(String(line));
      done();
    },
  });
  return { log: createLog({ level, destination }), lines };
}
