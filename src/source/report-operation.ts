import type { z } from 'zod';
import { checkAnswer } from './check-answer.ts';
import { checkInput } from './check-input.ts';
import { type CallOptions, present, type Session } from './session.ts';

export function reportOperation<R extends z.ZodType<object>, P extends z.ZodObject>(
  { source, within }: Session,
  { path, row, period }: { path: string; row: R; period: P },
): (ask?: z.input<P>, options?: CallOptions) => Promise<z.output<R> | undefined> {
  return async (given, options) => {
    const query = present(checkInput(period, given ?? {}, path));
    const answer = await within('live', options, context => source.get(path, context, query));
    return answer.kind === 'gone' ? undefined : checkAnswer(row, answer.record, path);
  };
}
