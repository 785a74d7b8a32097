import type { Reader } from './fetch-page.ts';

/** An answer that counts as uncommitted until it is released. */
interface Releasable {
  readonly release: () => void;
}

/**
 * Fetches up to `ahead` answers at once and yields them in order. Releases those that are not used. `next`: what to ask for now;
 * undefined where that is nothing, or not known before an answer that is under way.
 */
export async function* fetchInOrder<T, Answer extends Releasable>(
  { ahead }: Pick<Reader, 'ahead'>,
  next: () => T | undefined,
  fetch: (item: T) => Promise<Answer>,
): AsyncGenerator<Answer> {
  const running: Promise<Answer>[] = [];
  const fill = () => {
    while (running.length < ahead) {
      const item = next();
      if (item === undefined) return;
      const answer = fetch(item);
      // Handled when its turn comes; until then it must not be an unhandled rejection.
      answer.catch(() => undefined);
      running.push(answer);
    }
  };
  try {
    for (fill(); running.length > 0; fill()) yield await (running.shift() as Promise<Answer>);
  } finally {
    for (const answer of running) answer.then(unused => unused.release()).catch(() => undefined);
  }
}

/** Asks for each of the items. */
export function inTurn<T>(items: Iterable<T>): () => T | undefined {
  const left = items[Symbol.iterator]();
  return () => left.next().value as T | undefined;
}
