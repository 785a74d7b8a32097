import { codeOf } from '../../errors.ts';
import { CONNECT_TIMEOUT, connectTimeoutMs } from './exchange.ts';

/** Describes a request that got no answer, for a message. */
export function describeFailure(
  failure: { error: unknown; timedOut: boolean },
  place: { origin: string; host: string; timeoutMs: number },
): string {
  if (failure.timedOut) return `no complete answer from ${place.origin} within ${place.timeoutMs / 1000} s`;
  const code = codeOf(failure.error);
  if (code === CONNECT_TIMEOUT)
    return `no connection to ${place.origin} within ${connectTimeoutMs(place.timeoutMs) / 1000} s`;
  if (code === 'ECONNREFUSED') return `nothing answers at ${place.origin}`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `the host name ${place.host} cannot be resolved (${code})`;
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET') return 'the connection broke off';
  if (/CERT|TLS|SSL|SIGNATURE|ISSUER/.test(code)) return `no secure connection to ${place.origin} (${code})`;
  return `${failure.error instanceof Error ? failure.error.message : String(failure.error)}${code && ` (${code})`}`;
}
