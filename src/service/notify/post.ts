import { lookup as lookupName } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, request } from 'undici';
import { withAnySignal } from '../../any-signal.ts';
import { SECOND, stopped } from '../../clock.ts';
import { codeOf } from '../../errors.ts';
import { isSecureUrl } from '../../loopback.ts';
import { VERSION } from '../../version.ts';
import { isPrivateAddress, publicLookup } from './private-address.ts';

/** How long a delivery may take. */
const TIMEOUT_MS = 10 * SECOND;
/** How much of an answer is read: what it says decides nothing, and is not shown, since it could repeat a secret. */
const MOST_BODY = 1024;

export interface Failure {
  readonly isDelivered: false;
  /** Without the address. */
  readonly reason: string;
  /** Null without an answer. */
  readonly status: number | null;
  /** What the answer asks for. */
  readonly retryAfterMs: number | null;
}
export type Outcome = { readonly isDelivered: true } | Failure;

/**
 * Posts JSON to an address that somebody else controls, following no redirect. Only a status of 200 to 299 is a delivery. Rejects only once
 * `signal` aborts.
 */
export async function post(
  url: string,
  given: {
    readonly body: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly allowPrivate: boolean;
    readonly signal: AbortSignal;
    /** Default: the system's. */
    readonly lookup?: LookupFunction | undefined;
  },
): Promise<Outcome> {
  const { body, headers, allowPrivate, signal, lookup = lookupName as LookupFunction } = given;
  const refused = whyRefused(url, allowPrivate);
  if (refused !== null) return failure(refused);
  // One of its own: a connection that was kept open could be to an address that the name no longer has.
  const agent = new Agent({ connect: { lookup: allowPrivate ? lookup : publicLookup(lookup) } });
  const late = AbortSignal.timeout(TIMEOUT_MS);
  try {
    return await withAnySignal([late, signal], async ended => {
      const answer = await request(url, {
        dispatcher: agent,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'user-agent': `sluice/${VERSION}`, ...headers },
        body,
        signal: ended.signal,
      });
      await answer.body.dump({ limit: MOST_BODY, signal: ended.signal }).catch(() => undefined);
      return outcomeOf(answer.statusCode, answer.headers['retry-after']);
    });
  } catch (error) {
    if (signal.aborted) throw stopped(signal);
    return failure(late.aborted ? `no answer within ${TIMEOUT_MS / SECOND} seconds` : describeError(error));
  } finally {
    await agent.destroy().catch(() => undefined);
  }
}

/** An IP address is connected to without being looked up. */
function whyRefused(url: string, allowPrivate: boolean): string | null {
  if (!isSecureUrl(url, allowPrivate)) return 'its address is not an https:// URL without user and password';
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  return !allowPrivate && isIP(host) !== 0 && isPrivateAddress(host) ? `${host} lies in a private network` : null;
}

function outcomeOf(status: number, retryAfter: string | string[] | undefined): Outcome {
  if (status >= 200 && status < 300) return { isDelivered: true };
  const redirected = status >= 300 && status < 400 ? ', a redirect, which is not followed' : '';
  return { ...failure(`it answered HTTP ${status}${redirected}`), status, retryAfterMs: waitOf(String(retryAfter)) };
}

/** Seconds, or a date. */
function waitOf(retryAfter: string): number | null {
  const ms = /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) * SECOND : Date.parse(retryAfter) - Date.now();
  return Number.isNaN(ms) ? null : Math.max(ms, 0);
}

const failure = (reason: string): Failure => ({ isDelivered: false, reason, status: null, retryAfterMs: null });

/** Where several addresses were tried, the error has no message of its own. */
function describeError(error: unknown): string {
  const { message, errors = [] } = error as Error & { errors?: readonly Error[] };
  return message || errors[0]?.message || codeOf(error) || 'no connection';
}
