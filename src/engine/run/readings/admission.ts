import pLimit from 'p-limit';
import type { Reader } from '../../read/fetch-page.ts';

/** Admits at most `most` answers at a time, each from its request to its release. */
export function createAdmission(most: number): Reader['admit'] {
  const admission = pLimit(most);
  return ask =>
    new Promise((resolve, reject) => {
      void admission(async () => {
        try {
          const value = await ask();
          await new Promise<void>(release => resolve({ value, release }));
        } catch (error) {
          reject(error);
        }
      });
    });
}
