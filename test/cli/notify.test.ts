import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { accept, logChanges, numbersIn, withReceiver } from '../service/notify/with-receiver.ts';
import { withDatabase } from '../support/database.ts';
import { begin, type Ended, run, until, useBuild } from './run-command.ts';

useBuild();

interface Given {
  readonly cwd: string;
  readonly env: Record<string, string>;
  /** Whatever it prints names neither the address nor, but for `add`, a secret. */
  readonly notify: (...args: string[]) => Promise<Ended>;
}

async function inFolder(url: string, work: (given: Given) => Promise<void>): Promise<void> {
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-notify-'));
  const env = { DATABASE_URL: url, SOURCE_URL: 'http://127.0.0.1:9', SOURCE_API_KEY: 'a-key-of-the-test' };
  const notify = async (...args: string[]) => {
    const ended = await run(['notify', ...args], { env, cwd });
    expect(ended.stdout + ended.stderr).not.toContain('hook-secret');
    if (args[0] !== 'add') expect(ended.stdout + ended.stderr).not.toMatch(/whsec_[\w+/]{9}/);
    return ended;
  };
  try {
    await work({ cwd, env, notify });
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

test('a receiver is added, tried, listed, paused, moved and removed', async () => {
  await withDatabase(async (database, own) => {
    await logChanges(database, 1, 9);
    await inFolder(own.url, async ({ cwd, notify }) => {
      expect((await notify('list')).stdout).toContain('There are no receivers.');
      await withReceiver(accept, async ({ url, got }) => {
        const added = await notify('add', url, '--allow-private', '--on', 'customers.*', '--from', '4', '--json');
        expect(added.json()).toMatchObject({
          name: 'at-127-0-0-1',
          source: 'main',
          on: ['customers.*'],
          form: 'standard',
        });
        const { secret, host } = added.json();
        expect(statSync(join(cwd, 'receivers.json')).mode & 0o777).toBe(0o600);

        expect((await notify('test', 'at-127-0-0-1')).code).toBe(0);
        const [{ body, headers }] = got as [(typeof got)[number]];
        expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toEqual({
          type: 'test',
          source: 'main',
        });

        const listed = (await notify('list', '--json')).json();
        expect(listed.receivers).toMatchObject([
          { name: 'at-127-0-0-1', host, next: 4, behind: 6, state: 'delivering' },
        ]);
        expect(JSON.stringify(listed)).not.toContain('hook-secret');
        await database.query("update sluice.deliveries set paused_at = now(), reason = 'it answered HTTP 500'");
        const paused = await notify('list');
        expect(paused.stdout).toMatch(
          /at-127-0-0-1 .* 6 +paused; it answered HTTP 500\n\nTo go on: sluice notify resume at-127-0-0-1\n/,
        );
        const back = await notify('resume', 'at-127-0-0-1', '--from', '2', '--json');
        expect(back.json()).toEqual({ name: 'at-127-0-0-1', next: 2 });
        const again = await notify('add', url, '--allow-private');
        expect(again.stdout).toContain('Changes are delivered to at-127-0-0-1-2, from the next one on.');
        expect((await notify('remove', 'at-127-0-0-1')).stdout).toBe('Nothing more is delivered to at-127-0-0-1.\n');
        expect((await notify('list', '--json')).json().receivers).toMatchObject([{ name: 'at-127-0-0-1-2', next: 10 }]);
        const { rows } = await database.query('select name from sluice.deliveries');
        expect(rows).toEqual([{ name: 'at-127-0-0-1-2' }]);
      });
      const failed = await notify('test', 'at-127-0-0-1-2');
      expect([failed.code, failed.stdout]).toEqual([
        1,
        expect.stringMatching(/has not accepted a test: .*ECONNREFUSED.*\.\n$/),
      ]);
    });
  });
});

test('a receiver that was taken out of the file by hand is listed until it is removed', async () => {
  await withDatabase(async (database, own) => {
    await logChanges(database, 1, 9);
    await inFolder(own.url, async ({ cwd, notify }) => {
      await notify('add', 'https://crm.example.com/hook-secret', '--name', 'crm', '--from', '4');
      writeFileSync(join(cwd, 'receivers.json'), '[]');
      await database.query("update sluice.deliveries set paused_at = now(), reason = 'it answered HTTP 500'");
      expect((await notify('list')).stdout).toMatch(
        /crm .* 6 +not in receivers\.json any more; it answered HTTP 500\nTo forget crm: sluice notify remove crm\n/,
      );
      expect((await notify('list', '--json')).json().receivers).toMatchObject([{ name: 'crm', state: 'gone' }]);
      expect((await notify('remove', 'crm')).code).toBe(0);
      expect((await notify('list')).stdout).toContain('There are no receivers.');
    });
  });
});

test('receivers that are added and removed at the same time are all kept, and all gone', async () => {
  await withDatabase(async (database, own) => {
    await inFolder(own.url, async ({ cwd, notify }) => {
      const url = 'https://crm.example.com/hook-secret-path-7';
      const names = () =>
        JSON.parse(readFileSync(join(cwd, 'receivers.json'), 'utf8')).map((each: { name: string }) => each.name);
      const added = await Promise.all(Array.from({ length: 4 }, () => notify('add', url, '--json')));
      expect(added.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
      const all = added.map(each => String(each.json().name)).sort();
      expect(all).toEqual(['crm-example-com', ...[2, 3, 4].map(count => `crm-example-com-${count}`)]);
      expect(names().sort()).toEqual(all);
      expect((await Promise.all(all.map(name => notify('remove', name)))).map(({ code }) => code)).toEqual([
        0, 0, 0, 0,
      ]);
      expect(names()).toEqual([]);
      expect((await database.query('select from sluice.deliveries')).rows).toEqual([]);
      expect(readdirSync(cwd)).toEqual(['receivers.json']);
    });
  });
});

test('where the file cannot be written, nothing is begun and nothing removed', async () => {
  await withDatabase(async (database, own) => {
    await inFolder(own.url, async ({ cwd, notify }) => {
      const place = join(cwd, 'r'.repeat(250));
      const crm = { name: 'crm', source: 'main', url: 'https://crm.example.com/hook', form: 'slack', on: ['*.*'] };
      writeFileSync(place, JSON.stringify([crm]), { mode: 0o600 });
      // A new file beside it would have too long a name, which holds for root, too.
      symlinkSync(place, join(cwd, 'receivers.json'));
      await notify('resume', 'crm');
      for (const args of [
        ['add', 'https://erp.example.com/hook-secret-path-7'],
        ['remove', 'crm'],
      ]) {
        const { code, stderr } = await notify(...args);
        expect([code, stderr]).toEqual([
          1,
          expect.stringMatching(/receivers\.json cannot be written.*\n.*Nothing was changed/),
        ]);
      }
      expect((await database.query('select name from sluice.deliveries')).rows).toEqual([{ name: 'crm' }]);
    });
  });
});

test('a receiver of another source than --source names is removed with what is known of it', async () => {
  await withDatabase(async (database, own) => {
    await inFolder(own.url, async ({ cwd, notify }) => {
      const source = { url: 'http://127.0.0.1:9', api_key_from: 'SOURCE_API_KEY' };
      writeFileSync(
        join(cwd, 'sources.json'),
        JSON.stringify(['graz', 'vienna'].map(name => ({ ...source, name, schema: name }))),
      );
      await notify('add', 'https://crm.example.com/hook', '--name', 'crm', '--source', 'vienna');
      expect((await notify('remove', 'crm', '--source', 'graz')).code).toBe(0);
      expect((await database.query('select name from sluice.deliveries')).rows).toEqual([]);
    });
  });
});

test('what cannot be delivered to or is misspelt is refused, without the address', async () => {
  await withDatabase(async (database, own) => {
    await logChanges(database, 1, 9);
    await inFolder(own.url, async ({ cwd, env, notify }) => {
      const url = 'https://crm.example.com/hook-secret-path-7';
      for (const [args, text] of [
        [['http://crm.example.com/hook-secret'], 'The address of a receiver is not valid (value hidden).'],
        [['https://me:hook-secret@crm.example.com/'], 'The address of a receiver is not valid (value hidden).'],
        [['http://127.0.0.1/hook-secret'], 'http:// only of this machine, with --allow-private'],
        [[url, '--on', 'invoicse.updated'], 'did you mean "invoices"?'],
        [[url, '--on', 'invoices.paid'], '--on invoices.paid is not valid.'],
        [[url, '--name', 'My CRM'], '--name My CRM is not valid.'],
        [[url, '--from', '11'], 'The newest change is 9'],
        [[url, '--form', 'irc'], 'irc'],
        [[url, '--where', 'true'], 'needs a login that may only read'],
      ] as const) {
        const { code, stderr } = await notify('add', ...args);
        expect([code, stderr]).toEqual([2, expect.stringContaining(text)]);
      }
      expect((await notify('resume', 'crm')).stderr).toContain(
        'Unknown receiver "crm". receivers.json has none.'.split('. ')[0],
      );
      const reading = { ...env, READER_DATABASE_URL: own.url };
      const wrong = await run(['notify', 'add', url, '--where', 'nope = 1'], { env: reading, cwd });
      expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('column "nope" does not exist')]);
      const right = await run(['notify', 'add', url, '--where', "after->>'status' = 'Paid'", '--form', 'slack'], {
        env: reading,
        cwd,
      });
      expect([right.code, right.stdout]).toEqual([0, expect.not.stringContaining('whsec_')]);
      expect((await notify('list')).stdout).toContain('crm-example-com  crm.example.com');
    });
  });
});

test('a wrong receivers.json is refused with its places, and none of its secrets', async () => {
  await withDatabase(async (_, own) => {
    await inFolder(own.url, async ({ cwd, notify }) => {
      const file = join(cwd, 'receivers.json');
      const write = (content: unknown, mode = 0o600) => {
        rmSync(file, { force: true });
        writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content), { mode });
      };
      const crm = {
        name: 'crm',
        source: 'main',
        url: 'https://crm.example.com/hook-secret',
        secret: `whsec_${'a'.repeat(44)}`,
        on: ['*.*'],
      };
      for (const [content, text] of [
        ['[{"url": "https://hook-secret', 'it is no JSON list'],
        [{}, 'it is no JSON list'],
        [[7], 'receiver 1 is not an object'],
        [
          [{ ...crm, url: 'http://x/hook-secret' }],
          'receiver 1 (crm) has an invalid url (value hidden); expected an https:// address',
        ],
        [[{ ...crm, secret: 'hook-secret' }], 'receiver 1 (crm) has an invalid secret (value hidden)'],
        [[{ ...crm, secret: undefined }], 'receiver 1 (crm) lacks secret; expected whsec_'],
        [[{ ...crm, on: ['paid'] }], 'receiver 1 (crm) has on ["paid"]; expected patterns'],
        [[{ ...crm, uri: 1 }], 'unknown field "uri"'],
        [[crm, crm], 'two receivers have the name "crm"'],
      ] as const) {
        write(content);
        const { code, stderr } = await notify('list');
        expect([code, stderr]).toEqual([2, expect.stringContaining(text)]);
      }
      write([crm], 0o644);
      expect((await notify('list')).stderr).toContain('every user of this machine may read it');
      write([crm]);
      expect((await notify('list')).stdout).toMatch(/crm +crm\.example\.com +\*\.\* +new/);
    });
  });
});

test('a source or list that there is not is named by list, test and doctor', async () => {
  await withDatabase(async (_, own) => {
    await inFolder(own.url, async ({ cwd, env, notify }) => {
      const receiver = { url: 'https://crm.example.com/hook-secret', form: 'slack' };
      const receivers = [
        { ...receiver, name: 'crm', source: 'mian', on: ['*.*'] },
        { ...receiver, name: 'erp', source: 'main', on: ['invoicse.updated', 'invoicse.deleted', 'customers.*'] },
        { ...receiver, name: 'good', source: 'main', on: ['invoices.updated', '*.deleted'] },
      ];
      writeFileSync(join(cwd, 'receivers.json'), JSON.stringify(receivers), { mode: 0o600 });
      const crm = 'it names what there is not: source "mian" (did you mean "main"?)';
      const erp = 'it names what there is not: list "invoicse" (did you mean "invoices"?)';
      expect((await notify('list', '--json')).json().receivers).toMatchObject([
        { name: 'crm', unknown: crm },
        { name: 'erp', unknown: erp },
        { name: 'good', unknown: null },
      ]);
      expect((await notify('list')).stdout).toContain(`new; ${crm}\n`);
      for (const [name, unknown] of [
        ['crm', crm],
        ['erp', erp],
      ] as const) {
        const { code, stderr } = await notify('test', name);
        expect([code, stderr]).toEqual([2, expect.stringContaining(`The receiver ${name} is not tried: ${unknown}.`)]);
      }
      const { checks } = (await run(['doctor', '--json'], { env, cwd })).json();
      expect(checks.filter((each: { check: string }) => each.check === 'receivers')).toMatchObject([
        { ok: false, found: `crm: ${crm}` },
        { ok: false, found: `erp: ${erp}` },
      ]);
    });
  });
});

test('a service that is killed after a receiver has accepted a message sends it again with the same id', {
  timeout: 60_000,
}, async () => {
  await withDatabase(async (database, own) => {
    await inFolder(own.url, async ({ cwd, env, notify }) => {
      const service = () => begin(['start'], { env: { ...env, SCHEDULE_INVOICES: 'off' }, cwd });
      let running = service();
      let isFirst = true;
      await withReceiver(
        (_got, response) => {
          if (isFirst) running.child.kill('SIGKILL');
          isFirst = false;
          response.writeHead(204).end();
        },
        async ({ url, got }) => {
          await notify('add', url, '--allow-private', '--name', 'crm');
          await logChanges(database, 1, 3);
          await running.ended;
          expect(got.map(numbersIn)).toEqual([[1, 2, 3]]);
          await logChanges(database, 4, 5);
          // The turn of the process that died is over after a minute.
          await database.query('update sluice.deliveries set locked_until = now()');
          running = service();
          await until(() => got.length === 3);
          running.child.kill('SIGTERM');
          const { code, stdout, stderr } = await running.ended;
          expect(code).toBe(0);
          expect(stdout + stderr).not.toMatch(/hook-secret|whsec_/);
          expect(got.map(({ headers }) => headers['webhook-id'])).toEqual([
            'main.crm.1-3',
            'main.crm.1-3',
            'main.crm.4-5',
          ]);
          const { body, headers } = got[1] as (typeof got)[number];
          expect(body).toBe(got[0]?.body);
          const { secret } = JSON.parse(readFileSync(join(cwd, 'receivers.json'), 'utf8'))[0];
          expect(() => new Webhook(secret).verify(body, headers as Record<string, string>)).not.toThrow();
        },
      );
    });
  });
});
