import { withAnySignal } from '../../any-signal.ts';
import { SECOND } from '../../clock.ts';

const TIMEOUT_MS = 10 * SECOND;

/** Posts one alert. Rejects when it was not accepted, or as soon as `stopping` aborts. */
export async function deliverAlert(url: string, alert: object, stopping: AbortSignal): Promise<void> {
  const response = await withAnySignal([AbortSignal.timeout(TIMEOUT_MS), stopping], ({ signal }) =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(alert),
      redirect: 'error',
      signal,
    }),
  ).catch((error: Error & { cause?: Error & { code?: string } }) => {
    // The error itself always says "fetch failed".
    const why = error.cause?.message || error.cause?.code || error.message;
    throw new Error(`Cannot reach ALERT_WEBHOOK_URL: ${why}`, { cause: error });
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`ALERT_WEBHOOK_URL answered HTTP ${response.status}`);
}
