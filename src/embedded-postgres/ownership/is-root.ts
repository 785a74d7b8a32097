/** Root may write everything, so it must not follow what another user has put in its way. */
export const isRoot = (): boolean => process.getuid?.() === 0;
