import type { z } from 'zod';
import { isKind } from '../../errors.ts';
import { checkAnswer } from './check-answer.ts';
import { checkInput } from './check-input.ts';
import { type CallOptions, offered, present, type Session } from './session.ts';

export function reportOperation<R extends z.ZodType<object>, P extends z.ZodObject>(
  { source, within }: Session,
  { path, row, period }: { path: string; row: R; period: P },
): (ask?: z.input<P>, options?: CallOptions) => Promise<z.output<R> | undefined> {
  return async (given, options) => {
    const query = present(checkInput(period, given ?? {}, path));
    try {
      const answer = await within('live', options, context => offered(path, () => source.get(path, context, query)));
      return answer.kind === 'gone' ? undefined : checkAnswer(row, answer.record, path);
    } catch (error) {
      if (isKind(error, 'absent')) return undefined;
      throw error;
    }
  };
}
