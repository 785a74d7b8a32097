import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { CONSOLE_SCRIPT } from '../../../src/service/console/console-script.ts';

/** What the script needs of a browser. */
function browser() {
  const heard = new Map<string, () => void>();
  const loads: (() => void)[] = [];
  const part = { contains: () => false, replaceWith: () => undefined, firstChild: {} };
  const document = {
    ...{ hidden: false, activeElement: null, title: '', body: { dataset: {} } },
    ...{ addEventListener: () => undefined, querySelector: () => part, querySelectorAll: () => [] },
  };
  class EventSource {
    static readonly OPEN = 1;
    static readonly CLOSED = 2;
    readonly readyState = 1;
    addEventListener(event: string, listener: () => void): void {
      heard.set(event, listener);
    }
    close(): void {
      // There is nothing to close.
    }
  }
  class DOMParser {
    parseFromString() {
      return document;
    }
  }
  const fetch = () =>
    new Promise((resolve, reject) => {
      loads.push(() => (loads.length === 2 ? reject(new Error('away')) : resolve({ ok: true, text: async () => '' })));
    });
  const setInterval = () => undefined;
  runInNewContext(CONSOLE_SCRIPT, { document, EventSource, DOMParser, fetch, setInterval, location: { href: '/' } });
  return { loads, change: () => heard.get('change')?.() };
}

test('an open page is loaded once at a time, and once more for what came meanwhile', async () => {
  const { loads, change } = browser();
  const settled = () => new Promise(resolve => setImmediate(resolve));
  for (let times = 0; times < 5; times++) change();
  expect(loads).toHaveLength(1);
  loads[0]?.();
  await settled();
  expect(loads).toHaveLength(2);
  // It fails.
  loads[1]?.();
  await settled();
  expect(loads).toHaveLength(2);
  change();
  expect(loads).toHaveLength(3);
  loads[2]?.();
  await settled();
  expect(loads).toHaveLength(3);
});
