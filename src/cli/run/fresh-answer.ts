import type { Command } from 'commander';
import pLimit from 'p-limit';
import { SECOND } from '../../clock.ts';
import { explain, SluiceError } from '../../errors.ts';
import {
  type AnswerAge,
  ageText,
  answerAge,
  type Complete,
  type Freshness,
  MOST_WAIT_S,
} from '../../service/answers/fresh-query.ts';
import type { Query, QueryPlace } from '../../service/answers/lists-read.ts';
import { MOST_REQUESTS } from '../../service/orders/refresh.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { createProgress } from '../output/progress.ts';
import { duration, isOpen, parseWholeNumber, type Session } from '../session/session.ts';
import { readUsage, recognise, watchedSource } from '../session/source-settings.ts';
import type { Terminal } from '../session/terminal.ts';
import { completeOrders } from './complete-orders.ts';
import { openMigrated } from './pending-migrations.ts';

export interface FreshOptions {
  readonly maxAge?: number;
  readonly maxRequests?: number;
  readonly wait?: number;
}

/** The options of a query that may not be older than somebody says. */
export const withFreshOptions = (command: Command): Command =>
  command
    .option('--max-age <age>', 'read again first what is older: 5m, 90s, 2h, 0', duration('--max-age'))
    .option(
      '--max-requests <n>',
      `answer nothing if that takes more requests (default: ${MOST_REQUESTS})`,
      parseWholeNumber('--max-requests', 1, 1_000_000),
    )
    .option('--wait <seconds>', `or longer (default: ${MOST_WAIT_S})`, parseWholeNumber('--wait', 1, 86_400));

/** Null where somebody takes an answer of any age. Kind `usage` for the other options without an age. */
function freshnessOf({ maxAge: maxAgeMs, maxRequests, wait }: FreshOptions): Freshness | null {
  if (maxAgeMs !== undefined)
    return { maxAgeMs, mostRequests: maxRequests ?? MOST_REQUESTS, waitMs: (wait ?? MOST_WAIT_S) * SECOND };
  if (maxRequests === undefined && wait === undefined) return null;
  throw new SluiceError('usage', '--max-requests and --wait apply to --max-age.', { next: 'Example: --max-age 5m' });
}

/** Makes what a query reads as fresh as the options ask for, and tells its age. Null where nobody asked, and it cannot be told. */
export async function freshen(
  session: Session,
  reader: Database,
  query: Query,
  options: FreshOptions,
): Promise<AnswerAge | null> {
  const freshness = freshnessOf(options);
  try {
    const database = await (freshness ? openMigrated(session) : session.openDatabase({ reads: true }));
    return await answerAge(placeOf(session, database, reader), query, freshness);
  } catch (error) {
    if (freshness || session.signal.aborted) throw error;
    // Its tables may be of another version.
    session.log.debug({ reason: explain(error) }, 'the age of the answer cannot be told');
    return null;
  }
}

/** Where queries of this process run: it reads the sources itself, unless another process does. */
function placeOf(session: Session, database: Database, reader: Database): QueryPlace & { readonly complete: Complete } {
  const { settings, jobs, signal } = session;
  const sources = settings.sources.map(source => ({
    ...watchedSource(source, jobs),
    usage: () => readUsage(database, source),
  }));
  return {
    ...{ database, reader, sources, signal },
    async complete({ name }, orders, ended) {
      const source = settings.sources.find(each => each.name === name);
      if (!source || !isOpen(source))
        throw new SluiceError(
          'configuration',
          `The address or key of ${name} is not set, so nothing of it can be read.`,
          { next: 'Set SOURCE_URL and SOURCE_API_KEY, or omit --max-age.' },
        );
      await recognise(database, source);
      const shown = createProgress(session);
      const reading = {
        ...{ database, source, noWait: false, limited: undefined },
        progress: shown.of(null, source.timeZone),
        inTurn: pLimit(1),
      };
      const requests = orders.map(({ resource, kind, targets }) => ({ resource, kind, targets }));
      await completeOrders({ ...reading, session: { ...session, signal: ended } }, requests).finally(() =>
        shown.stop(),
      );
    },
  };
}

/** Goes to stderr, below the result. */
export function noteAge(terminal: Terminal, age: AnswerAge | null): void {
  const text = age && ageText(age);
  if (text) terminal.note(text);
}
