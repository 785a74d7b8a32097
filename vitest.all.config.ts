// `vitest.config.ts` and the tests look at it, so it is set before they are loaded.
process.env.SLUICE_TESTS = 'all';

export default (await import('./vitest.config.ts')).default;
