/**
 * The commands that messages outside `cli` name as the next step. The command line accepts each of them
 * (test/cli/next-steps.test.ts).
 */

/** A text as a shell takes it for one word. */
export const shellWord = (text: string): string =>
  /^[\w./+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The option that a command needs to be about this source; '' for the only source of an installation without sources.json. */
export const sourceOption = (source: string): string => (source === 'main' ? '' : ` --source ${source}`);

export const acceptDeletes = (resource: string, rows: number, source: string): string =>
  `sluice sync ${resource} --accept-deletes ${rows}${sourceOption(source)}`;

export const acceptLosses = (resource: string, fields: readonly string[], source: string): string =>
  `sluice sync ${resource} --accept-losses ${fields.map(field => `${resource}.${field}`).join()}${sourceOption(source)}`;

export const acceptRewrites = (resource: string, fields: readonly string[], source: string): string =>
  `sluice accept ${fields.map(field => `${resource}.${field}`).join(' ')}${sourceOption(source)}`;

export const undoRuns = (ids: readonly string[], source: string): string =>
  `sluice undo ${ids.join(' ')}${sourceOption(source)}`;

export const readAgain = (resource: string, source: string): string =>
  `${discard(resource, source)}, then sluice sync ${resource}${sourceOption(source)}`;

export const discard = (resource: string, source: string): string => `sluice reset ${resource}${sourceOption(source)}`;

/** For the same installation at a new address. */
export const acceptAddress = (source: string): string => `sluice sync${sourceOption(source)} --moved`;

/** For a source that was restored from a backup. */
export const acceptRestore = (source: string): string => `sluice sync${sourceOption(source)} --restored`;

export const resumeReceiver = (name: string): string => `sluice notify resume ${name}`;

export const removeReceiver = (name: string): string => `sluice notify remove ${name}`;

export const MIGRATE = 'sluice migrate';
