import type { Duplex } from 'node:stream';
import pg from 'pg';
import Cursor from 'pg-cursor';
import { SECOND } from '../../clock.ts';
import { SluiceError } from '../../errors.ts';
import { nearestName } from '../../nearest-name.ts';
import type { Database } from '../database/database.ts';
import { explainDatabaseError } from '../database/database-errors.ts';
import { explainPoolError, USUAL_PLANS } from '../database/pool.ts';
import { endQuery } from './end-query.ts';

export interface ColumnInfo {
  readonly name: string;
  readonly oid: number;
}

/** The OIDs of types, by name. */
export const OIDS: typeof pg.types.builtins = pg.types.builtins;

/** OIDs of the numeric types. */
export const NUMBERS: ReadonlySet<number> = new Set([
  OIDS.INT2,
  OIDS.INT4,
  OIDS.INT8,
  OIDS.OID,
  OIDS.FLOAT4,
  OIDS.FLOAT8,
  OIDS.NUMERIC,
]);

/** Values as Postgres writes them; null for NULL. */
export type TextRow = readonly (string | null)[];

const AS_WRITTEN = { getTypeParser: () => (value: unknown) => value } as unknown as pg.CustomTypesConfig;
const BATCH = 500;

/** Runs a query of a few rows that sees the same data as the query that is read. */
export type Ask = (query: string) => Promise<{ columns: readonly ColumnInfo[]; rows: readonly TextRow[] }>;

interface ReadOptions {
  /** One statement, or what makes it up. */
  readonly query: string | ((ask: Ask) => Promise<string>);
  readonly schema: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** The connection is dropped once the server sent more than this: a single value may have a gigabyte. Default: no limit. */
  readonly mostBytes?: number;
}

/**
 * Runs one query and passes its rows on in batches of at most 500, so that memory stays flat. Names are looked up in the schema,
 * then in `sluice`. The transaction is read-only, but what the query can do is decided by the login of `database` alone.
 * `onRows` returns false to stop. Throws kind `failed` with Postgres' own words for a wrong query or one that takes longer than
 * `timeoutMs` (0: no limit), `usage` for COPY, and `stopped` when the signal came before all rows were passed on: at most about a
 * second later, whatever the query does.
 */
export async function readQuery(
  database: Database,
  options: ReadOptions,
  onRows: (columns: readonly ColumnInfo[], rows: readonly TextRow[]) => Promise<boolean>,
): Promise<void> {
  const { schema, timeoutMs, signal, mostBytes = Number.POSITIVE_INFINITY } = options;
  const client = await database.pool.connect().catch(error => {
    throw explainPoolError(error, database.place);
  });
  let broken: Error | undefined;
  let pid: number | undefined;
  let query = '';
  let cursor: RowCursor | undefined;
  const ask: Ask = async text => {
    query = text;
    const { fields, rows } = await client.query<(string | null)[]>({ text, rowMode: 'array', types: AS_WRITTEN });
    return { columns: fields.map(columnOf), rows };
  };
  const volume = limitVolume(client, mostBytes);
  const over = new AbortController();
  // Whoever waits for it goes on, even if the server cannot be told.
  const stop = () => void endQuery(database, pid, over.signal).catch(() => dropConnection(client));
  try {
    await client.query('begin transaction isolation level repeatable read read only');
    await client.query(
      `set local search_path = ${client.escapeIdentifier(schema)}, sluice, public; set local statement_timeout = ${timeoutMs}; ${USUAL_PLANS}`,
    );
    await client.query(GIVE_UP_SUPERUSER);
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    pid = rows[0]?.pid;
    signal.addEventListener('abort', stop, { once: true });
    // Aborted before the listener was added, there is nothing to cancel.
    signal.throwIfAborted();
    query = typeof options.query === 'string' ? options.query : await options.query(ask);
    cursor = client.query(new RowCursor(query));
    for (let more = true; more; ) {
      const { columns, batch } = await nextBatch(cursor);
      try {
        more = (await onRows(columns, batch)) && batch.length === BATCH && !signal.aborted;
      } catch (error) {
        await cursor.close();
        throw error;
      }
    }
    // Before anything is thrown, as above: a rollback waits forever for an open cursor.
    await cursor.close();
    signal.throwIfAborted();
    if (cursor.isCopy) throw refuseCopy();
  } catch (error) {
    if (signal.aborted)
      throw new SluiceError('stopped', 'The query was stopped on request, so its result is incomplete.', {
        next: 'The same command starts again at the first row.',
      });
    if (volume.isExceeded()) throw tooLarge(mostBytes);
    if (error instanceof SluiceError) throw error;
    if (!isOfQuery(error)) throw explainDatabaseError(error, database.place);
    throw explainQueryError(error, { ...options, query }, await nearRelation(client, error, schema));
  } finally {
    volume.end();
    cursor?.leave();
    signal.removeEventListener('abort', stop);
    await client.query('rollback').catch((error: Error) => {
      broken = error;
    });
    over.abort();
    // What was to end this query must not meet the next one.
    client.release(broken ?? signal.aborted);
  }
}

const streamOf = (client: pg.PoolClient): Duplex =>
  (client as unknown as { connection: { stream: Duplex } }).connection.stream;

const dropConnection = (client: pg.PoolClient): void => void streamOf(client).destroy();

/** Drops the connection once the server sent more than `most` bytes. */
function limitVolume(client: pg.PoolClient, most: number): { isExceeded(): boolean; end(): void } {
  const stream = streamOf(client);
  let received = 0;
  const count = (chunk: Buffer) => {
    received += chunk.length;
    if (received > most) dropConnection(client);
  };
  stream.on('data', count);
  return { isExceeded: () => received > most, end: () => void stream.off('data', count) };
}

const tooLarge = (most: number): SluiceError =>
  new SluiceError(
    'failed',
    `The result is larger than ${Math.floor(most / 2 ** 20)} MB, so it was not read to its end.`,
    { next: 'Select fewer columns or rows.' },
  );

/** For a superuser in DATABASE_URL without a login that may only read: a deliberate query can take the rights back. */
const GIVE_UP_SUPERUSER = `
  select set_config('role', 'pg_read_all_data', true) from pg_roles where rolname = current_user and rolsuper`;

/** Survives COPY, whose messages a cursor does not know: the first would end the process. */
class RowCursor extends Cursor<(string | null)[]> {
  isCopy = false;
  /** Stops listening to the connection, which serves other cursors later. */
  leave: () => void = () => undefined;

  constructor(query: string) {
    super(query, [], { rowMode: 'array', types: AS_WRITTEN });
    const { submit } = this;
    this.submit = connection => {
      const noteCopy = () => {
        this.isCopy = true;
      };
      connection.once('copyOutResponse', noteCopy);
      this.leave = () => void connection.off('copyOutResponse', noteCopy);
      submit.call(this, connection);
    };
  }

  handleCopyData(): void {
    // Rows that nobody takes.
  }

  handleCopyInResponse(connection: { sendCopyFail(reason: string): void }): void {
    this.isCopy = true;
    connection.sendCopyFail('not supported');
  }
}

const refuseCopy = (): SluiceError =>
  new SluiceError('usage', 'sluice sql does not support COPY.', {
    next: 'Select the rows instead: sluice sql --format csv "select .."',
  });

const columnOf = ({ name, dataTypeID }: pg.FieldDef): ColumnInfo => ({ name, oid: dataTypeID });

function nextBatch(cursor: RowCursor): Promise<{ columns: ColumnInfo[]; batch: TextRow[] }> {
  return new Promise((resolve, reject) => {
    cursor.read(BATCH, (error, batch, result) => {
      if (error) return reject(error);
      resolve({ columns: result.fields.map(columnOf), batch });
    });
  });
}

/** Postgres refused the query. Class 57P means that the server or the session is ending. */
const isOfQuery = (error: unknown): error is pg.DatabaseError =>
  error instanceof pg.DatabaseError && !error.code?.startsWith('57P');

/** Used where Postgres gives no hint of its own. */
function hintOf({ code, message }: pg.DatabaseError, schema: string, near: string): string | undefined {
  if (/multiple commands/.test(message)) return 'Send one statement at a time.';
  if (code === '42501') return 'This login may only read the warehouse; "sluice grant" lets it read what was added.';
  if (code !== '42P01') return undefined;
  return `${near}The schemas ${schema}, sluice and public were searched. sluice status lists the tables; sluice sync creates them.`;
}

export const tookTooLong = (timeoutMs: number, cause: unknown): SluiceError =>
  new SluiceError('failed', `The query was stopped after ${timeoutMs / SECOND} seconds.`, {
    next: 'To allow it more time: sluice sql --timeout <seconds> (0: no limit).',
    cause,
  });

function explainQueryError(
  error: pg.DatabaseError,
  { query, schema, timeoutMs }: ReadOptions & { query: string },
  meant: string,
): SluiceError {
  if (error.code === '57014' && timeoutMs > 0) return tookTooLong(timeoutMs, error);
  if (error.code === '25006')
    return new SluiceError('failed', 'A query is read-only; nothing was changed.', {
      next: 'Only Sluice writes to the warehouse; use psql to keep your own tables in another schema.',
    });
  const at = Number(error.position);
  const line = at > 0 ? query.slice(0, at).split('\n').length : 0;
  const near = at > 0 ? ` (line ${line}, near "${query.slice(at - 1, at + 19).split('\n')[0]}")` : '';
  const next = [error.detail, error.hint ?? hintOf(error, schema, meant)].filter(Boolean).join(' ');
  return new SluiceError('failed', `Postgres refused the query: ${error.message}${near}.`, {
    ...(next ? { next } : {}),
    cause: error,
  });
}

/**
 * The table or view that was probably meant, when Postgres says that the one of the query does not exist: `Did you mean
 * "invoices"? `, or nothing. Ends the transaction that failed, in which no name can be read.
 */
async function nearRelation(
  client: pg.PoolClient,
  { code, message }: pg.DatabaseError,
  schema: string,
): Promise<string> {
  const given = code === '42P01' ? message.split('"')[1] : undefined;
  if (given === undefined) return '';
  await client.query('rollback');
  const { rows } = await client.query<{ name: string }>(
    `select case when $2 then n.nspname || '.' || c.relname else c.relname end as name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ($1, 'sluice', 'public') and c.relkind in ('r', 'p', 'v', 'm') order by 1`,
    [schema, given.includes('.')],
  );
  const near = nearestName(
    given,
    rows.map(({ name }) => name),
  );
  return near === undefined ? '' : `Did you mean "${near}"? `;
}
