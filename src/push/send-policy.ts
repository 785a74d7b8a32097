import { SluiceError } from '../errors.ts';
import type { PushNews } from '../warehouse/pushes/pushes.ts';
import type { Sent } from './sender.ts';

/** Requests without an answer that tells, one after the other, after which the source is left alone. */
const MOST_UNKNOWN = 3;
/** Lines, each by itself, that are answered with 404 one after the other, and none created, after which no more are tried. */
const MOST_ABSENT = 3;
/** Batches that are refused without a name one after the other, and none taken, after which the rest is left to smaller ones. */
const MOST_UNNAMED = 2;

/** A request, and what became of its lines. */
export interface Outcome {
  readonly path: string;
  readonly batch: boolean;
  readonly sent: Sent;
  readonly news: readonly PushNews[];
  /** Lines still to be sent. */
  readonly left: number;
}

/** What the outcomes of one turn tell of the lines that are still to be sent, so that a source is not asked the same a thousand times. */
export interface Outlook {
  /** Entries to a batch from the next turn on. */
  readonly size: number;
  /** Whether to go on with this turn. Throws what would keep all the others from being created, too. */
  goesOn(outcome: Outcome): boolean;
}

/** `isOffered`: something of the kind was created before, so a 404 is about what the line points to. */
export function createOutlook(given: { size: number; isOffered: boolean }): Outlook {
  let { size, isOffered } = given;
  let batchTaken = false;
  // How often each came in a row.
  let [unknown, absent, unnamed] = [0, 0, 0];
  return {
    get size() {
      return size;
    },
    goesOn({ path, batch, sent, news, left }) {
      unknown = sent.kind === 'unknown' ? unknown + 1 : 0;
      if (sent.kind === 'unknown' && unknown >= MOST_UNKNOWN) throw sent.error;
      if (sent.kind === 'refused' && batch && isNoBatch(sent)) throw noBatch(path, sent.error);
      if (sent.kind === 'refused' && sent.error.status === 405) throw noCreate(path, sent.error);
      isOffered ||= news.some(({ state }) => state === 'created');
      absent = sent.kind === 'refused' && sent.error.status === 404 ? absent + 1 : 0;
      if (sent.kind === 'refused' && absent >= MOST_ABSENT && !isOffered && left > 0) throw noneThere(path, sent.error);
      batchTaken ||= batch && sent.kind === 'answered';
      const isUnnamed = batch && sent.kind === 'refused' && news.every(({ state }) => state === 'unknown');
      unnamed = isUnnamed ? unnamed + 1 : 0;
      if (isUnnamed) size = Math.max(Math.floor(news.length / 2), 1);
      return batchTaken || unnamed < MOST_UNNAMED;
    },
  };
}

/** A batch was not looked at, so none of it was carried out. */
export const isNoBatch = (sent: Sent): boolean =>
  sent.kind === 'refused' && (sent.error.status === 404 || sent.error.status === 405);

const noBatch = (path: string, cause: SluiceError): SluiceError =>
  new SluiceError('refused', `This source takes no batches: POST ${path} is answered with ${cause.status}.`, {
    next: 'Send the lines one by one, a request each: --batch 1',
    ...statusOf(cause),
    cause,
  });

const noCreate = (path: string, cause: SluiceError): SluiceError =>
  new SluiceError('refused', `This source does not let anything be created there: POST ${path} is answered with 405.`, {
    next: 'Check in the source whether this installation offers it; the same command then goes on.',
    ...statusOf(cause),
    cause,
  });

const noneThere = (path: string, cause: SluiceError): SluiceError =>
  new SluiceError(
    'refused',
    `POST ${path} is answered with 404 for ${MOST_ABSENT} lines in a row, and none is created.`,
    {
      next: 'Either this source does not offer it, or what these lines point to is not there: correct them or take them out, and repeat the command.',
      ...statusOf(cause),
      cause,
    },
  );

const statusOf = ({ status }: SluiceError) => (status === undefined ? {} : { status });
