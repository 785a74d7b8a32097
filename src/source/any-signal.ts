/**
 * Brackets work with a controller that aborts as soon as one of `signals` does. `AbortSignal.any` on Node 20 keeps every
 * derived signal alive as long as a source signal lives, which here is the whole process.
 */
export async function withAnySignal<T>(
  signals: readonly (AbortSignal | undefined)[],
  work: (controller: AbortController) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const links = signals.flatMap(signal => {
    if (signal === undefined) return [];
    const abort = () => controller.abort(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    return [() => signal.removeEventListener('abort', abort)];
  });
  try {
    return await work(controller);
  } finally {
    for (const unlink of links) unlink();
  }
}
