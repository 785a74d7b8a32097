import { test } from 'vitest';

/** `npm run test:all` runs every test and every case. `npm test` leaves out what takes long, so that it can be run often. */
export const everything = process.env.SLUICE_TESTS === 'all';

const omitted = Object.assign(() => undefined, { each: () => () => undefined, concurrent: () => undefined });

/** A test that takes long and has a short one beside it: only `npm run test:all` runs it. */
export const long = everything ? test : (omitted as unknown as typeof test);

/** `npm run test:all` plays all cases, `npm test` this many of them, spread evenly. */
export const some = <T>(cases: readonly T[], count: number): readonly T[] =>
  everything
    ? cases
    : cases.filter((_, n) => Math.floor((n * count) / cases.length) !== Math.floor(((n - 1) * count) / cases.length));
