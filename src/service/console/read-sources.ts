import { explain } from '../../errors.ts';
import type { ServedSource } from '../status/served-source.ts';
import {
  type FullState,
  readFullState,
  readStates,
  type SourceState,
  unreadableState,
} from '../status/source-state.ts';
import type { ConsoleParts } from './console-parts.ts';

/** All sources, in a few statements; their tables are counted only where they have changed. */
export const readSources = (parts: ConsoleParts): Promise<SourceState[]> =>
  readStates(parts.database, parts.sources, {
    isServed: true,
    countRows: parts.rowCounts,
    onUnreadable: (source, error) => noteUnreadable(parts, source, error),
  });

/** One source in full. */
export const readSource = (parts: ConsoleParts, source: ServedSource): Promise<FullState> =>
  readFullState(parts.database, source, true).catch(error =>
    unreadableState(source, noteUnreadable(parts, source, error)),
  );

/** Says why a source cannot be read, for people. */
export function noteUnreadable({ hide, log }: ConsoleParts, { name }: ServedSource, error: unknown): string {
  log.warn({ source: name, err: error }, 'could not read the state of a source');
  return hide(explain(error));
}
