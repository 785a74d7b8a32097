import pLimit from 'p-limit';
import type { Reader } from '../../read/fetch-page.ts';

/** So many answers at a time, each from its request until it is released. */
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
