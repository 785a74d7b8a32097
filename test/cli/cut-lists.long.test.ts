import { expect, test } from 'vitest';
import { parseVariants } from '../../sandbox/parse/parse-variants.ts';
import { useBuild, withInstallation } from './run-command.ts';

useBuild();

const ticket = {
  customer_id: 1,
  subject: 'Printer',
  message: 'On fire',
  department_id: 1,
  priority: 'High',
  status: 'Open',
};

test('a list whose end nothing agrees with is said to be unproven, and one that is cut off to be cut, wherever Sluice reports', async () => {
  const variants = parseVariants('paging=whole,most-rows=33');
  await withInstallation({ variants }, async ({ sandbox, sluice }) => {
    while ([...sandbox.rows('tickets')].length < 40) sandbox.insert('tickets', ticket);
    const first = await sluice('sync', 'tickets');
    expect([first.code, first.stderr]).toEqual([
      0,
      expect.stringContaining(
        'tickets: not proven complete: the source gives no count, and nothing yet confirms that the list ends after 33 rows.',
      ),
    ]);
    expect(first.stderr).not.toMatch(/33 rows proven equal/);
    expect((await sluice('verify', 'tickets')).stdout).toContain(
      'Every row that the source shows is equal in the warehouse. Rows beyond the end of a list were not compared.',
    );
    expect((await sluice('status')).stdout).toMatch(/^tickets +33 .*33 rows, end unproven/m);
    expect((await sluice('doctor')).stdout).toContain('nothing agrees yet that it ends after 33 rows');
    const complete = "select complete from sluice.complete('-infinity', 'infinity') where resource = 'tickets'";
    expect((await sluice('sql', '--json', complete)).json()).toEqual([{ complete: false }]);

    for (let n = 0; n < 5; n++) sandbox.insert('tickets', ticket);
    const second = await sluice('sync', 'tickets');
    expect([second.code, second.stderr]).toEqual([
      1,
      expect.stringContaining('The source shows at most 33 rows of tickets without saying so'),
    ]);
    expect((await sluice('sql', '--json', 'select count(*)::int as rows from tickets')).json()).toEqual([{ rows: 38 }]);
    expect((await sluice('status')).stdout).toMatch(/^tickets +38 .*cut at 33 rows/m);
    expect((await sluice('sync', 'tickets', '--json')).json().resources).toMatchObject([
      { deleted: 0, missing: 0, end: { verdict: 'cut', rows: 33, counted: null } },
    ]);
  });
});

test('stored rows behind an end that nothing agrees with are named, with the command that accepts their deletion', async () => {
  await withInstallation({ variants: parseVariants('paging=whole') }, async ({ sandbox, sluice }) => {
    while ([...sandbox.rows('tickets')].length < 40) sandbox.insert('tickets', ticket);
    expect((await sluice('sync', 'tickets')).code).toBe(0);
    const oldest = Array.from(sandbox.rows('tickets'), row => row.id)
      .sort((a, b) => a - b)
      .slice(0, 10);
    for (const id of oldest) sandbox.remove('tickets', id);
    const second = await sluice('sync', 'tickets');
    const accept = 'sluice sync tickets --accept-deletes 10';
    expect([second.code, second.stderr]).toEqual([
      0,
      expect.stringContaining(`10 stored rows may lie behind that. If the source has deleted them: ${accept}.`),
    ]);
    expect((await sluice(...accept.split(' ').slice(1))).code).toBe(0);
    expect((await sluice('sql', '--json', 'select count(*)::int as rows from tickets')).json()).toEqual([{ rows: 30 }]);
  });
});
