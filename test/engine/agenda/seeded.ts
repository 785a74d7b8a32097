/** Numbers between 0 and 1 that are the same for the same seed. */
export const seeded = (seed: number) => () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};
