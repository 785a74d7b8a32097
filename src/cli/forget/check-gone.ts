import { type Job, slicingOf } from '../../engine/job.ts';
import { deletionMark } from '../../engine/profile/observe-address.ts';
import { isKind, SluiceError } from '../../errors.ts';
import { openClient } from '../../source/client.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { RecordState } from '../../warehouse/erasure/record-copies.ts';
import { readTraits } from '../../warehouse/ledgers/traits.ts';
import { createWaitNote } from '../output/wait-note.ts';
import type { Session } from '../session/session.ts';
import { type OpenSource, openLedger } from '../session/source-settings.ts';

export interface ForgetRequest {
  readonly session: Session;
  readonly database: Database;
  readonly source: OpenSource;
  readonly name: string;
  readonly job: Job;
  readonly key: string;
  readonly noWait: boolean;
}

/** Throws the kind `failed` while the source shows the record: the next reading would bring it back. */
export async function checkGone(request: ForgetRequest, state: RecordState): Promise<void> {
  const { name, key } = request;
  const answer = await askAddress(request);
  const isKnownToLie = await provesNothing(request);
  if (answer === 'deleted' || (answer === '404' && !isKnownToLie)) return;
  if (answer === 'shown' && !isKnownToLie) {
    throw new SluiceError('failed', `The source still shows ${name} ${key}, so nothing was erased.`, {
      next: 'Delete the record at the source, then run this command again.',
    });
  }
  if ((!state.isStored || state.isMissing) && !state.isQuarantined) return;
  throw new SluiceError('failed', `The last reading of ${name} still showed ${key}, so nothing was erased.`, {
    next: `Delete the record at the source, run "sluice sync ${name} --full", then run this command again.`,
  });
}

/** Asks the record's own address, where its list has such; `unknown`: it has none, or it says nothing of the record. */
async function askAddress(request: ForgetRequest): Promise<'404' | 'deleted' | 'shown' | 'unknown'> {
  const { session, database, source, name, job, key, noWait } = request;
  const { terminal, clock, log, signal } = session;
  const slicing = slicingOf(job, 'one');
  if (!slicing) return 'unknown';
  const { settings } = source;
  const note = createWaitNote(terminal, clock, 'forget', source.timeZone);
  const budget = openLedger(database, source.name, settings);
  const client = openClient({ ...settings, ...note, budget, noWait, clock, log });
  try {
    // The ledger of requests must not name what is being erased.
    const context = { lane: 'live', purpose: `forget ${name}`, signal } as const;
    const answer = await client.get(slicing.path.replace('{key}', encodeURIComponent(key)), context);
    if (answer.kind === 'gone' && answer.instead === undefined) return '404';
    return answer.kind === 'one' && deletionMark(answer.record) === null ? 'shown' : 'deleted';
  } catch (error) {
    if (isKind(error, 'refused') && error.status !== 403) return 'unknown';
    throw error;
  } finally {
    await client.close();
  }
}

/** The addresses were seen to answer for deleted records as well, or to deny others, so that only the list tells. */
async function provesNothing({ database, source, name }: ForgetRequest): Promise<boolean> {
  const traits = await readTraits(database.kysely, source.name);
  return traits.some(({ resource, trait, value }) => resource === name && trait === 'address' && value === 'no 404');
}
