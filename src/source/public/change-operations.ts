import type { z } from 'zod';
import { integerText } from '../answers/values.ts';
import { pathId } from '../api/query-filters.ts';
import { notFound } from '../requests/outcome-errors.ts';
import { type CallOptions, checkAnswer, checkInput, offered, type Session } from './session.ts';

export interface CreateOperation<Body> {
  /**
   * Creates one record. The request is never repeated if it may have arrived: the error then has `outcomeUnknown`. An invalid body is the
   * kind `usage` before anything is sent, or `refused` by the source; both have `fields`.
   */
  create(body: Body, options?: CallOptions): Promise<Outcome>;
}

export interface RecordOperations<Row, Changes> {
  /** Returns undefined if no record has this id. */
  get(id: string | number, options?: CallOptions): Promise<Row | undefined>;
  /** Sends these fields. Returns undefined if no record has this id. */
  update(id: string | number, changes: Changes, options?: CallOptions): Promise<Outcome | undefined>;
  /** Returns false if no record had this id, as after a repeated request whose first answer was lost. */
  delete(id: string | number, options?: CallOptions): Promise<boolean>;
}

/** The answer to a change. The API's document shows only its envelope: read back what matters. */
export interface Outcome {
  /** The id in `data`, if there is one. */
  id: string | undefined;
  /** As the source sent it. */
  data: unknown;
  message: string | undefined;
}

export function createOperation<B extends z.ZodType>(
  { source, within }: Session,
  { path, body }: { path: string; body: B },
): CreateOperation<z.input<B>> {
  return {
    async create(given, options) {
      const checked = checkInput(body, given, path);
      const answer = await within('live', options, context =>
        offered(path, () => source.request({ method: 'POST', path, body: checked }, context)),
      );
      if (answer.kind === 'gone') throw notFound(path);
      return outcomeOf(answer.body);
    },
  };
}

export function recordOperations<R extends z.ZodType<object>, B extends z.ZodType>(
  { source, within }: Session,
  { path, row, changes }: { path: string; row: R; changes: B },
): RecordOperations<z.output<R>, z.input<B>> {
  const at = (id: unknown) => `${path}/${checkInput(pathId, id, `${path}/{id}`)}`;
  return {
    async get(id, options) {
      const one = at(id);
      const answer = await within('live', options, context => source.get(one, context));
      return answer.kind === 'gone' ? undefined : checkAnswer(row, answer.record, one);
    },
    async update(id, given, options) {
      const one = at(id);
      const body = checkInput(changes, given, one);
      const answer = await within('live', options, context =>
        source.request({ method: 'PUT', path: one, body }, context),
      );
      return answer.kind === 'gone' ? undefined : outcomeOf(answer.body);
    },
    async delete(id, options) {
      const one = at(id);
      const answer = await within('live', options, context => source.request({ method: 'DELETE', path: one }, context));
      return answer.kind !== 'gone';
    },
  };
}

function outcomeOf({ data, message }: Readonly<Record<string, unknown>>): Outcome {
  return { id: idIn(data), data, message: typeof message === 'string' ? message : undefined };
}

function idIn(data: unknown): string | undefined {
  try {
    return integerText((data as { id?: unknown } | null | undefined)?.id ?? null) ?? undefined;
  } catch {
    return undefined; // The shape of `data` is undocumented; the record was created whatever it holds.
  }
}
