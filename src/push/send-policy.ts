import { SluiceError } from '../errors.ts';
import type { PushNews } from '../warehouse/pushes/pushes.ts';
import type { SendResult } from './sender.ts';

/** The push ends after this many requests in a row whose outcome is unknown. */
const MAX_UNKNOWN = 3;
/** The push ends after this many single lines in a row that were answered with 404, if none was ever created. */
const MAX_NOT_FOUND = 3;
/** After this many batches in a row that were refused without naming an entry, if none was accepted, the rest waits for smaller ones. */
const MAX_UNNAMED = 2;

/** A request, its result, and the new states of its lines. */
interface SentRequest {
  readonly path: string;
  readonly batch: boolean;
  readonly result: SendResult;
  readonly updates: readonly PushNews[];
  /** Lines still to be sent in this round. */
  readonly left: number;
}

/** Learns from the results of one round of requests, so that a failing source is not sent the same thing a thousand times. */
interface SendPolicy {
  /** Entries per batch from the next round on. */
  readonly batchSize: number;
  /** Whether to continue the round. Throws when the failure would affect all other lines too. */
  continues(sent: SentRequest): boolean;
}

/** `isOffered`: a record of this kind was created before, so a 404 is about a record that the line refers to. */
export function createSendPolicy(start: { batchSize: number; isOffered: boolean }): SendPolicy {
  let { batchSize, isOffered } = start;
  let batchAccepted = false;
  // How often each happened in a row.
  let [unknown, notFound, unnamed] = [0, 0, 0];
  return {
    get batchSize() {
      return batchSize;
    },
    continues({ path, batch, result, updates, left }) {
      unknown = result.kind === 'unknown' ? unknown + 1 : 0;
      if (result.kind === 'unknown' && unknown >= MAX_UNKNOWN) throw result.error;
      if (result.kind === 'refused' && batch && isBatchUnsupported(result)) throw noBatches(path, result.error);
      if (result.kind === 'refused' && result.error.status === 405) throw noCreate(path, result.error);
      isOffered ||= updates.some(({ state }) => state === 'created');
      notFound = result.kind === 'refused' && result.error.status === 404 ? notFound + 1 : 0;
      if (result.kind === 'refused' && notFound >= MAX_NOT_FOUND && !isOffered && left > 0)
        throw allNotFound(path, result.error);
      batchAccepted ||= batch && result.kind === 'answered';
      const isUnnamed = batch && result.kind === 'refused' && updates.every(({ state }) => state === 'unknown');
      unnamed = isUnnamed ? unnamed + 1 : 0;
      if (isUnnamed) batchSize = Math.max(Math.floor(updates.length / 2), 1);
      return batchAccepted || unnamed < MAX_UNNAMED;
    },
  };
}

/** The source has no batch endpoint, so no entry was carried out. */
export const isBatchUnsupported = (result: SendResult): boolean =>
  result.kind === 'refused' && (result.error.status === 404 || result.error.status === 405);

const noBatches = (path: string, cause: SluiceError): SluiceError =>
  new SluiceError('refused', `This source accepts no batches: POST ${path} is answered with ${cause.status}.`, {
    next: 'Send one line per request: --batch 1',
    ...statusOf(cause),
    cause,
  });

const noCreate = (path: string, cause: SluiceError): SluiceError =>
  new SluiceError('refused', `This source does not allow creating records here: POST ${path} is answered with 405.`, {
    next: 'Check in the source whether this installation offers it, then repeat the command; it continues where it stopped.',
    ...statusOf(cause),
    cause,
  });

const allNotFound = (path: string, cause: SluiceError): SluiceError =>
  new SluiceError(
    'refused',
    `POST ${path} is answered with 404 for ${MAX_NOT_FOUND} lines in a row, and none was created.`,
    {
      next: 'Either this source does not offer it, or the records that these lines refer to do not exist: correct or remove the lines, then repeat the command.',
      ...statusOf(cause),
      cause,
    },
  );

const statusOf = ({ status }: SluiceError) => (status === undefined ? {} : { status });
