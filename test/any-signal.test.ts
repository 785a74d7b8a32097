import { getEventListeners } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { linkSignals, withAnySignal } from '../src/any-signal.ts';

test('a linked signal follows each of the others until it is unlinked, and leaves no listener', async () => {
  const [one, other] = [new AbortController(), new AbortController()];
  const linked = linkSignals([one.signal, undefined, other.signal]);
  other.abort('why');
  expect([linked.signal.aborted, linked.signal.reason]).toEqual([true, 'why']);
  linked.unlink();
  await withAnySignal([one.signal], async ({ signal }) => expect(signal.aborted).toBe(false));
  expect(getEventListeners(one.signal, 'abort')).toEqual([]);
  const late = linkSignals([one.signal]);
  late.unlink();
  one.abort();
  expect(late.signal.aborted).toBe(false);
  expect(linkSignals([one.signal]).signal.aborted).toBe(true);
});

test('AbortSignal.any, which keeps memory for as long as one of its signals lives, is used nowhere', () => {
  const root = fileURLToPath(new URL('../src', import.meta.url));
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'));
  expect(files.filter(file => readFileSync(`${root}/${file}`, 'utf8').includes('AbortSignal.any('))).toEqual([]);
});
