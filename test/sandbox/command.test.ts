import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { command as sandboxCommand } from '../../src/cli/commands/sandbox.ts';
import type { Session } from '../../src/cli/session/session.ts';
import { type Clock, HOUR } from '../../src/clock.ts';
import { explain, isKind } from '../../src/errors.ts';
import { createManualClock } from './test-client.ts';

/** Runs the command until `use` has finished with the sandbox; rejects with the error of the command. */
async function run(
  args: readonly string[],
  use: (url: string, key: string) => Promise<void> = async () => {},
  clock: Clock = createManualClock(),
) {
  const stop = new AbortController();
  let used: Promise<void> = Promise.resolve();
  const terminal = {
    colors: { bold: String },
    show(shown: { url?: string; apiKey?: string }) {
      used = use(shown.url as string, shown.apiKey as string).finally(() => stop.abort());
    },
  };
  const session = { terminal, shell: { cwd: tmpdir() }, signal: stop.signal, clock } as unknown as Session;
  const command = sandboxCommand({
    print: () => undefined,
    action:
      (_needs, work) =>
      async (...given) => {
        await work(session, ...given);
        await used;
      },
  });
  await command.parseAsync([...args], { from: 'user' });
}

async function refusal(...args: string[]): Promise<string> {
  const error = await run(args).catch((reason: unknown) => reason);
  expect(isKind(error, 'usage')).toBe(true);
  return explain(error);
}

function scriptOf(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-faults-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'faults.txt');
  writeFileSync(file, text);
  return file;
}

test('variants and faults separated by commas or repeated, a script, and all combined', async () => {
  const script = scriptOf('# the first is\n1 html-503 1 /api/v2/users\n');
  const variants = ['--variant', 'paging=capped,cap=100', '--variant', 'order=id-asc'];
  const faults = ['--faults', 'drop=0,json-500=0', '--faults', 'json-502=1', '--faults-script', script];
  await run([...variants, ...faults.slice(4)], async (url, key) => {
    const list = (name: string) => fetch(`${url}/api/v2/${name}`, { headers: { authorization: `Bearer ${key}` } });
    const { data } = (await (await list('invoices')).json()) as { data: { id: number }[] };
    expect([data.length, data[0]?.id]).toEqual([100, 1]);
    expect((await list('users')).status).toBe(503);
    expect((await list('users')).status).toBe(200);
  });
  await run([...variants, ...faults], async (url, key) => {
    const list = (name: string) => fetch(`${url}/api/v2/${name}`, { headers: { authorization: `Bearer ${key}` } });
    expect((await list('invoices')).status).toBe(502);
    expect((await list('users')).status).toBe(503);
  });
});

test('activity changes all lists until a daily reset', async () => {
  const clock = createManualClock();
  const use = async (url: string, key: string) => {
    const total = async (name: string) => {
      const response = await fetch(`${url}/api/v2/${name}`, { headers: { authorization: `Bearer ${key}` } });
      return ((await response.json()) as { meta: { total_records: number } }).meta.total_records;
    };
    expect([await total('invoices'), await total('users')]).toEqual([600, 8]);
    clock.advance(12 * HOUR - 1);
    expect(await total('invoices')).toBeGreaterThan(1500);
    expect(await total('users')).not.toBe(8);
    clock.advance(1);
    // The new day has one change of each group: the one due at midnight.
    expect(Math.abs((await total('invoices')) - 600)).toBeLessThanOrEqual(1);
    expect(Math.abs((await total('users')) - 8)).toBeLessThanOrEqual(1);
  };
  await run(['--activity', '10', '--daily-reset'], use, clock);
});

test('--key sets the key that it accepts', async () => {
  const use = async (url: string, key: string) => {
    expect(key).toBe('other/key+1');
    const statusOf = async (sent: string) =>
      (await fetch(`${url}/api/v2/users`, { headers: { authorization: `Bearer ${sent}` } })).status;
    expect([await statusOf('other/key+1'), await statusOf('sandbox-key')]).toEqual([200, 401]);
  };
  await run(['--key', 'other/key+1'], use);
  expect(await refusal('--key', 'with space')).toContain('Expected: letters, digits and signs, without spaces.');
});

test('errors name what is wrong and what is expected', async () => {
  expect(await refusal('--variant', 'order=id-asc,paging=none')).toBe(
    'Unknown value "none" for variant "paging".\nValues of paging: meta, whole, no-meta, capped, ignored.',
  );
  expect(await refusal('--variant', 'paging=capped=x')).toContain('Unknown value "capped=x" for variant "paging".');
  expect(await refusal('--faults', 'json-500=0.1,json-501=0.1')).toMatch(
    /^Unknown fault "json-501"\.\nFaults: json-500, /,
  );
  expect(await refusal('--faults', 'hang=often')).toContain('Expected: a number from 0 to 1, e.g. hang=0.05.');
  expect(await refusal('--faults-script', scriptOf('5 hang\nfive hang'))).toContain('Line 2: "five"');
  expect(await refusal('--faults-script', '/nowhere/faults.txt')).toMatch(
    /^\/nowhere\/faults\.txt cannot be read: ENOENT.*\.\nExpected: a text file with lines of: at-request fault/,
  );
});

test('the help shows how to request faults', async () => {
  let shown = '';
  const command = sandboxCommand({ print: () => undefined, action: () => async () => {} });
  command.configureOutput({
    writeOut: text => {
      shown += text;
    },
  });
  command.outputHelp();
  expect(shown).toContain('sluice sandbox --faults json-500=0.05,hang=0.01');
  expect(shown).toContain('at-request fault [count] [path]');
});
