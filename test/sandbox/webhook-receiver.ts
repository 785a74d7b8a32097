import { openPeer } from '../source/peer.ts';
import type { Body } from './test-client.ts';

/** A webhook address, closed at the end of the test, and the messages it received. */
export async function openReceiver(): Promise<{ received: Body[]; url: string }> {
  const received: Body[] = [];
  const peer = await openPeer((response, nth) => {
    received.push(JSON.parse(peer.seen[nth - 1]?.body ?? ''));
    response.end();
  });
  return { received, url: `${peer.url}/hook` };
}
