import type { Socket } from 'node:net';
import type { Fault } from './fault-kinds.ts';

/** Faults that leave the request without a single byte of a response. */
export type ConnectionFault = 'hang' | 'drop' | 'reset';

export function isConnectionFault(fault: Fault | undefined): fault is ConnectionFault {
  return fault === 'hang' || fault === 'drop' || fault === 'reset';
}

/** Never resolves: anything returned would be sent as a response. */
export function breakConnection(fault: ConnectionFault, socket: Socket): Promise<never> {
  if (fault === 'drop') socket.destroy();
  if (fault === 'reset') socket.resetAndDestroy();
  return new Promise<never>(() => {});
}
