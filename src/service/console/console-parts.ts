import type { Context } from 'hono';
import { html } from 'hono/html';
import { HTTPException } from 'hono/http-exception';
import { explain, isKind, type SluiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { listRuns, type PastRun } from '../../warehouse/reports/run-history.ts';
import type { Html } from '../html-document.ts';
import type { Change, Editor } from '../status/editor.ts';
import type { RowCounts, ServedSource } from '../status/served-source.ts';
import {
  type FullState,
  readFullState,
  readStates,
  type SourceState,
  unreadableState,
} from '../status/source-state.ts';
import type { Now } from './elements.ts';

/** What the pages are made from. */
export interface ConsoleParts {
  readonly database: Database;
  readonly sources: readonly ServedSource[];
  /** The warehouse as the login that may only read; null where there is none. */
  openReader(): Promise<Database | null>;
  readonly editor: Editor;
  /** Browsers have to log in. */
  readonly isGuarded: boolean;
  /** Shared with the metrics, so that a table is counted once. */
  readonly rowCounts: RowCounts;
  /** Removes secrets from a text. */
  readonly hide: (text: string) => string;
  readonly log: Log;
}

/** Where a row quotes a source, which may quote what it was sent. */
const QUOTES = ['examples', 'field', 'meaning', 'message', 'next', 'payload', 'reason', 'reasons'];

/** The same without secrets. Whatever a page shows of these fields passes here once it is read. */
export function withoutSecrets<T>({ hide }: Pick<ConsoleParts, 'hide'>, read: T): T {
  const visit = (value: unknown, isQuote: boolean): unknown => {
    if (typeof value === 'string') return isQuote ? hide(value) : value;
    if (Array.isArray(value)) return value.map(each => visit(each, isQuote));
    if (value === null || typeof value !== 'object') return value;
    const fields = Object.entries(value).map(([name, each]) => [name, visit(each, isQuote || QUOTES.includes(name))]);
    return Object.fromEntries(fields);
  };
  return visit(read, false) as T;
}

/** All sources, in a few statements; their tables are counted only where they have changed. */
export async function readSources(parts: ConsoleParts): Promise<SourceState[]> {
  const states = await readStates(parts.database, parts.sources, {
    isServed: true,
    countRows: parts.rowCounts,
    onUnreadable: (source, error) => noteUnreadable(parts, source, error),
  });
  return withoutSecrets(parts, states);
}

export async function readSource(parts: ConsoleParts, source: ServedSource): Promise<FullState> {
  try {
    return withoutSecrets(
      parts,
      await readFullState(parts.database, source, { isServed: true, countRows: parts.rowCounts }),
    );
  } catch (error) {
    return unreadableState(source, noteUnreadable(parts, source, error));
  }
}

/** Newest first. */
export const readRuns = async (
  parts: ConsoleParts,
  filter: Parameters<typeof listRuns>[1],
  most: number,
): Promise<PastRun[]> => withoutSecrets(parts, await listRuns(parts.database.kysely, filter, most));

export const sourceNamed = ({ sources }: ConsoleParts, asked: string | undefined): ServedSource | undefined =>
  sources.find(({ name }) => name === asked);

/** The source that an address names as its part `:source`; without one of that name, there is no such page. */
export function sourceOf(parts: ConsoleParts, c: Context): ServedSource {
  const source = sourceNamed(parts, c.req.param('source'));
  if (source === undefined) throw new HTTPException(404);
  return source;
}

/** What the work returns, or why it was refused: the person who sent the form can change that. */
export async function refusable<T>(work: () => Promise<T>): Promise<T | SluiceError> {
  try {
    return await work();
  } catch (error) {
    if (!isKind(error, 'usage', 'configuration', 'failed')) throw error;
    return error;
  }
}

/** Says why a source cannot be read, for people. */
export function noteUnreadable(
  { hide, log }: Pick<ConsoleParts, 'hide' | 'log'>,
  { name }: ServedSource,
  error: unknown,
): string {
  log.warn({ source: name, err: error }, 'could not read the state of a source');
  return hide(explain(error));
}

/** This moment, in the zone of a source. */
export const nowIn = async ({ database }: Pick<ConsoleParts, 'database'>, source?: ServedSource): Promise<Now> => ({
  at: await databaseNow(database),
  timeZone: source?.timeZone ?? 'UTC',
});

/** Why nothing came of a form; empty where nothing was refused. */
export const refusalText = ({ hide }: Pick<ConsoleParts, 'hide'>, refused: SluiceError | null = null): Html | string =>
  refused === null
    ? ''
    : html`<p class="bad after" role="alert">${hide([refused.message, refused.next].filter(Boolean).join(' '))}</p>`;

/** What became of the last change of the installation; empty where `isHere` says that another page tells of it. */
export function changeText(
  { editor: { last }, hide }: ConsoleParts,
  isHere: (page: Change['page']) => boolean = () => true,
): Html | string {
  if (last === null || !isHere(last.change.page)) return '';
  const { doing, done, failed } = last.change;
  if (last.isUnderWay)
    return html`<p class="after" role="status">${doing} once the readings in progress have ended. This page then shows it.</p>`;
  return last.failure === null
    ? html`<p class="after" role="status">${done}</p>`
    : html`<p class="bad after" role="alert">${failed} ${hide(last.failure)}</p>`;
}

/** Whether a part of an address can be the id of a run or an order. */
export const isId = (text: string): boolean => /^\d{1,18}$/.test(text);
