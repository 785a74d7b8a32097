import { expect, test } from 'vitest';
import { begin, run, until, useBuild, withInstallation } from './run-command.ts';

useBuild();

test('sql prints tables, CSV and JSON exactly, and only reads', async () => {
  await withInstallation({}, async ({ env, sluice }) => {
    const query = `select 12345678901234567.89::numeric as n, null as nothing, E'a "b",\\nc' as t, true as yes`;
    expect((await sluice('sql', query)).stdout).toMatch(
      /^ +n +nothing +t +yes\n12345678901234567\.89 +NULL +a "b",⏎c +t\n\(1 row\)\n$/,
    );
    expect((await sluice('sql', '--format', 'csv', query)).stdout).toBe(
      'n,nothing,t,yes\r\n12345678901234567.89,,"a ""b"",\nc",t\r\n',
    );
    const piped = await run(['sql', '--json'], { env, input: query });
    expect(piped.stdout).toContain('"n":12345678901234567.89,');
    expect(piped.json()).toMatchObject([{ nothing: null, t: 'a "b",\nc', yes: true }]);

    const wide = await sluice('sql', "select repeat('x', 300) as wide");
    expect(wide.stdout).toMatch(
      /x…\n\(1 row; values ending in … are cut, --format csv or json shows them in full\)\n$/,
    );

    const many = await sluice('sql', '--format', 'csv', 'select g from generate_series(1, 1234) g');
    expect(many.stdout.split('\r\n')).toHaveLength(1236);
    expect((await sluice('sql', '--json', 'select * from invoices')).json()).toEqual([]);

    const write = await sluice('sql', 'insert into customers (id) values (1)');
    expect([write.code, write.stderr]).toEqual([
      1,
      expect.stringMatching(/is read-only.*\n.*use psql.*in another schema/),
    ]);
    const wrong = await sluice('sql', '--json', 'select nonsense');
    expect([wrong.code, wrong.json().error.message]).toEqual([1, expect.stringContaining('nonsense')]);
    expect((await sluice('sql', 'select * from invoice')).stderr).toContain('\nThe schemas warehouse, sluice and');
    expect((await sluice('sql', 'select 1; select 2')).stderr).toContain('Send one statement at a time.');
    expect((await sluice('sql', '--json', '--format', 'csv', 'select 1')).code).toBe(2);
    expect((await sluice('sql')).code).toBe(2);
  });
});

test('an interrupted sql fails and reports an incomplete result; one that waits for its query ends at once', async () => {
  await withInstallation({}, async ({ env }) => {
    const asking = begin(['sql', '--format', 'csv', 'select generate_series(1, 1000000000)'], { env });
    await until(() => asking.stdout().length > 1000);
    asking.child.kill('SIGTERM');
    expect(await asking.ended).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('result is incomplete.\n') as string,
    });

    const waiting = begin(['sql'], { env, open: true });
    // More than a pipe holds: the command is reading by now.
    await new Promise(resolve => waiting.child.stdin?.write(' '.repeat(4_000_000), resolve));
    waiting.child.kill('SIGTERM');
    expect(await waiting.ended).toMatchObject({
      code: 1,
      stderr: 'Stopped on request, before a query was received.\n',
    });
  });
});
