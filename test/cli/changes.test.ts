import { expect, test } from 'vitest';
import { openSandbox } from '../../sandbox/sandbox.ts';
import { withDatabase } from '../support/database.ts';
import { begin, run, until, useBuild } from './run-command.ts';

useBuild();

test('changes are shown, picked, and followed as they come', async () => {
  const sandbox = await openSandbox({ size: { customers: 10, invoices: 20, transactions: 5 }, rateLimit: 0 });
  await withDatabase(async (_, own) => {
    const env = { SOURCE_URL: sandbox.url, SOURCE_API_KEY: sandbox.apiKey, DATABASE_URL: own.url };
    const sluice = (args: readonly string[]) => run(args, { env });
    await sluice(['sync', 'invoices']);
    const none = await sluice(['changes']);
    expect([none.code, none.stdout]).toEqual([0, '']);
    expect(none.stderr).toContain('Nothing has changed since the lists were first read.');

    const [first, second] = [...sandbox.rows('invoices')];
    const [one, two] = [first?.id as number, second?.id as number];
    sandbox.update('invoices', one, { status: 'Void', notes: 'x'.repeat(60) } as never);
    await sluice(['sync', 'invoices', '--full']);
    sandbox.update('invoices', two, { status: 'Void' } as never);
    await sluice(['sync', 'invoices', '--full']);

    const shown = await sluice(['changes', 'invoices']);
    expect(shown.stdout.split('\n')).toEqual([
      expect.stringMatching(
        new RegExp(
          `^1  \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d  invoices ${one} updated  notes: .* -> x{39}…; status: .* -> Void$`,
        ),
      ),
      expect.stringMatching(new RegExp(`^2  .*  invoices ${two} updated  status: .* -> Void$`)),
      '',
    ]);
    const picked = await sluice(['changes', '--json', '--from', '1', '--where', `key = '${two}' -- the second`]);
    expect(
      picked.stdout
        .trim()
        .split('\n')
        .map(line => JSON.parse(line)),
    ).toMatchObject([
      {
        number: 2,
        resource: 'invoices',
        key: `${two}`,
        kind: 'updated',
        after: { status: 'Void' },
        run_id: expect.any(Number),
      },
    ]);
    expect((await sluice(['changes', '--since', '1h'])).stdout).toBe((await sluice(['changes', '--from', '1'])).stdout);
    expect((await sluice(['changes', '--since', '0'])).stdout).toBe('');
    const odd = await sluice(['changes', '--since', 'yesterday']);
    expect([odd.code, odd.stderr]).toEqual([2, expect.stringContaining('such as 5m')]);
    const following = begin(['changes', '--follow', '--json', '--from', '2'], { env });
    await until(() => following.stdout().includes('"number":2'));
    sandbox.update('invoices', one, { status: 'Paid' } as never);
    await sluice(['sync', 'invoices', '--full']);
    await until(() => following.stdout().includes('"number":3'));
    following.child.kill('SIGINT');
    const { code, stdout } = await following.ended;
    expect([code, stdout.trim().split('\n').length]).toEqual([0, 2]);

    const wrong = await sluice(['changes', '--where', 'nope = 1']);
    expect(wrong.code).not.toBe(0);
    expect(wrong.stderr).toContain('nope');
    const unknown = await sluice(['changes', 'invoicse']);
    expect(unknown.stderr).toContain('did you mean "invoices"?');
  });
  await sandbox.close();
});
