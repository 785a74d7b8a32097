import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { saysYes } from '../../src/cli/session/confirm.ts';

/** Types an answer to the question on a terminal. */
function answer(typed: string, signal = new AbortController().signal): Promise<boolean> {
  const input = new PassThrough();
  input.end(typed);
  return saysYes('Sure? ', { input, output: new PassThrough(), signal, terminal: true });
}

test('only "yes" confirms; Ctrl-C, Ctrl-D and the end of input decline', async () => {
  expect(await answer('yes\n')).toBe(true);
  for (const typed of ['no\n', '\n', '\u0003', '\u0004', 'ye']) expect(await answer(typed), typed).toBe(false);
});

test('a stopped command does not wait for an answer', async () => {
  const stop = new AbortController();
  const open = new PassThrough();
  const asked = saysYes('Sure? ', { input: open, output: new PassThrough(), signal: stop.signal, terminal: true });
  stop.abort();
  expect(await asked).toBe(false);
});
