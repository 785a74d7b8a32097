import { explain, isKind, type SluiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { type OpenSource, recognise } from '../session/source-settings.ts';

/** Throws if every source is a different installation than before. If only some are, it logs them, and their runs fail. */
export async function checkSources(database: Database, sources: readonly OpenSource[], log: Log): Promise<void> {
  const refusals: SluiceError[] = [];
  for (const source of sources) {
    const refusal = await findRefusal(database, source);
    if (!refusal) continue;
    refusals.push(refusal);
    if (refusals.length === sources.length) throw refusal;
    log.error({ source: source.name }, explain(refusal));
  }
}

/** Why the source may not be read: it is a different installation than before. Null if it may. */
export async function findRefusal(database: Database, source: OpenSource): Promise<SluiceError | null> {
  try {
    await recognise(database, source);
    return null;
  } catch (error) {
    if (isKind(error, 'configuration')) return error;
    throw error;
  }
}
