import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  createReadStream,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { begin, hasTerminals, run, until, useBuild, withInstallation } from './run-command.ts';

useBuild();

test('sql prints tables, CSV and JSON exactly, and only reads', async () => {
  await withInstallation({}, async ({ env, sluice }) => {
    const query = `select 12345678901234567.89::numeric as n, null as nothing, E'a "b",\\nc' as t, true as yes`;
    expect((await sluice('sql', query)).stdout).toMatch(
      /^ +n +nothing +t +yes\n12345678901234567\.89 +NULL +a "b",\\nc +t\n\(1 row\)\n$/,
    );
    expect((await sluice('sql', '--format', 'csv', query)).stdout).toBe(
      'n,nothing,t,yes\r\n12345678901234567.89,,"a ""b"",\nc",t\r\n',
    );
    const piped = await run(['sql', '--json'], { env, input: query });
    expect(piped.stdout).toContain('"n":12345678901234567.89,');
    expect(piped.json()).toMatchObject([{ nothing: null, t: 'a "b",\nc', yes: true }]);

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
    expect((await sluice('sql', 'select * from invoice')).stderr).toContain('The schemas warehouse, sluice and');
    expect((await sluice('sql', 'select 1; select 2')).stderr).toContain('Send one statement at a time.');
    expect((await sluice('sql', '--json', '--format', 'csv', 'select 1')).code).toBe(2);
    expect((await sluice('sql')).code).toBe(2);
  });
});

test('sql cuts no value in a pipe, not even one of a later batch', async () => {
  await withInstallation({}, async ({ env, sluice }) => {
    const query =
      "select g, repeat('x', case when g = 900 then 300 else 3 end) as wide, 'end' as last from generate_series(1, 1000) g";
    const { stdout } = await sluice('sql', query);
    const lines = stdout.split('\n');
    expect([lines[0], lines[1], lines[900], lines.at(-2)]).toEqual([
      '   g  wide  last',
      '   1  xxx   end',
      ` 900  ${'x'.repeat(300)}  end`,
      '(1,000 rows)',
    ]);
    if (!hasTerminals) return;
    const screen = await run(['sql', 'select repeat($$x$$, 300) as wide'], { env, terminal: true });
    expect(screen.stdout).toContain('x…');
    expect(screen.stdout).toContain(
      '(1 row; values ending in … are cut, --expanded or --format csv shows them in full)',
    );
  });
});

test('sql writes one object a line, one column a line, and files that are complete or absent', async () => {
  await withInstallation({}, async ({ env, sluice }) => {
    const query = `select 1::int8 as id, E'a\nb' as note, null as nothing, '{"a":\n1}'::json as raw,
      timestamptz '2026-01-15 10:00:00.123456+00' as at, timestamp '2026-01-15 10:00:00' as local, date '2026-01-15' as day`;
    const row =
      '{"id":1,"note":"a\\nb","nothing":null,"raw":{"a": 1},"at":"2026-01-15T10:00:00.123456Z","local":"2026-01-15T10:00:00","day":"2026-01-15"}';
    expect((await sluice('sql', '--format', 'ndjson', query)).stdout).toBe(`${row}\n`);
    expect((await sluice('sql', '--json', query)).json()).toEqual([JSON.parse(row)]);
    expect((await sluice('sql', '--expanded', query)).stdout).toBe(
      [
        '-- row 1',
        'id       1',
        'note     a',
        '         b',
        'nothing  NULL',
        'raw      {"a":',
        '         1}',
        'at       2026-01-15 10:00:00.123456+00',
        'local    2026-01-15 10:00:00',
        'day      2026-01-15',
        '(1 row)\n',
      ].join('\n'),
    );
    const cwd = mkdtempSync(join(tmpdir(), 'sluice-out-'));
    onTestFinished(() => rmSync(cwd, { recursive: true }));
    const written = await run(['sql', '--format', 'csv', '--out', 'a.csv', 'select 1 as one'], { env, cwd });
    expect([written.code, written.stdout]).toEqual([0, '1 row written to a.csv\n']);
    if (process.platform !== 'win32') {
      const mode = () => statSync(join(cwd, 'a.csv')).mode & 0o777;
      expect(mode()).toBe(0o600);
      chmodSync(join(cwd, 'a.csv'), 0o640);
      await run(['sql', '--format', 'csv', '--out', 'a.csv', 'select 1 as one'], { env, cwd });
      expect(mode()).toBe(0o640);
    }
    expect(readFileSync(join(cwd, 'a.csv'), 'utf8')).toBe('one\r\n1\r\n');
    const json = await run(['sql', '--json', '--out', 'a.json', 'select 1 as one'], { env, cwd });
    expect(json.json()).toEqual({ file: 'a.json', rows: 1, asOf: null });
    expect(JSON.parse(readFileSync(join(cwd, 'a.json'), 'utf8'))).toEqual([{ one: 1 }]);
    // Fails at the 900th row, after a batch was written.
    const failed = await run(['sql', '--out', 'a.csv', 'select 1 / (900 - g) from generate_series(1, 1000) g'], {
      env,
      cwd,
    });
    expect(failed.code).toBe(1);
    expect(readdirSync(cwd).sort()).toEqual(['a.csv', 'a.json']);
    expect(readFileSync(join(cwd, 'a.csv'), 'utf8')).toBe('one\r\n1\r\n');
    expect((await run(['sql', '--out', '/nowhere/a.csv', 'select 1'], { env, cwd })).code).toBe(2);
    expect((await sluice('sql', '--expanded', '--format', 'csv', 'select 1')).code).toBe(2);
  });
});

test('sql writes no object in which one column hides another', async () => {
  await withInstallation({}, async ({ sluice }) => {
    // More rows than are read at once.
    const query = 'select g as id, g + 1 as id from generate_series(1, 1000) g';
    for (const format of ['json', 'ndjson']) {
      const { code, stdout, stderr } = await sluice('sql', '--format', format, query);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toContain('Two columns of the query are called id.\nGive one of them another name: ');
    }
    expect((await sluice('sql', '--json', query)).json().error).toMatchObject({ kind: 'usage' });
    expect((await sluice('sql', '--format', 'csv', query)).code).toBe(0);
  });
});

test.runIf(process.platform !== 'win32')('--out writes to pipes and devices, and keeps links', async () => {
  await withInstallation({}, async ({ env }) => {
    const cwd = mkdtempSync(join(tmpdir(), 'sluice-out-'));
    onTestFinished(() => rmSync(cwd, { recursive: true }));
    const write = (out: string) => run(['sql', '--format', 'csv', '--out', out, 'select 1 as one'], { env, cwd });
    writeFileSync(join(cwd, 'target.csv'), 'old', { mode: 0o640 });
    symlinkSync('target.csv', join(cwd, 'link.csv'));
    expect((await write('link.csv')).code).toBe(0);
    expect(lstatSync(join(cwd, 'link.csv')).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(cwd, 'target.csv'), 'utf8')).toBe('one\r\n1\r\n');
    expect(statSync(join(cwd, 'target.csv')).mode & 0o777).toBe(0o640);

    const pipe = join(cwd, 'pipe');
    execFileSync('/bin/sh', ['-c', 'mkfifo "$0"', pipe]);
    const reading = createReadStream(pipe);
    const [written, read] = await Promise.all([write('pipe'), text(reading)]);
    expect([written.code, read, lstatSync(pipe).isFIFO()]).toEqual([0, 'one\r\n1\r\n', true]);

    symlinkSync('/dev/null', join(cwd, 'nothing'));
    expect((await write('nothing')).code).toBe(0);
    expect(lstatSync(join(cwd, 'nothing')).isSymbolicLink()).toBe(true);
    expect(readdirSync(cwd).sort()).toEqual(['link.csv', 'nothing', 'pipe', 'target.csv']);
    expect((await write('.')).stderr).toContain('cannot be written (EISDIR)');
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
