import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { noteTroubles } from '../../src/warehouse/ledgers/incidents.ts';
import { hasTerminals, run, useBuild, withInstallation } from './run-command.ts';

useBuild();

/** Erases the screen, sets the window's title, reverses text and hides a part of it; every line of a table must survive it. */
const HOSTILE = 'a\x1b[2J\x1b]0;title\x07\x9b31m\u202egpj.exe\u200b\u2028b\x7f';
const SHOWN = 'a\\x1b[2J\\x1b]0;title\\x07\\x9b31m\\u202egpj.exe\\u200b\\u2028b\\x7f';
const INVISIBLE = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u;

const literal = (text: string) => `U&'${[...text].map(each => `\\${hex(each)}`).join('')}'`;
const hex = (each: string) => each.charCodeAt(0).toString(16).padStart(4, '0');
const named = (text: string) => `U&"${[...text].map(each => `\\${hex(each)}`).join('')}"`;

test('sql shows control, bidirectional and invisible characters of cells and column names as escapes', async () => {
  await withInstallation({}, async ({ env }) => {
    const query = `select 1 as n, ${literal(`${HOSTILE}\nc\td`)} as ${named('x\x1b[7m\u202e')}, 'end' as last`;
    for (const colored of [{}, { FORCE_COLOR: '1' }]) {
      const all = { env: { ...env, ...colored } };
      const table = withoutColors((await run(['sql', query], all)).stdout);
      expect(table).toMatch(/^ +n +x\\x1b\[7m\\u202e +last\n/m);
      expect(table).toContain(`${SHOWN}\\nc\\td  end\n`);
      expect(table).not.toMatch(INVISIBLE);
      const expanded = withoutColors((await run(['sql', '--expanded', query], all)).stdout);
      expect(expanded).toMatch(/^x\\x1b\[7m\\u202e {2}a/m);
      expect(expanded).toContain(`${SHOWN}\n                c\\td\n`);
      expect(expanded).not.toMatch(INVISIBLE);
    }
    if (!hasTerminals) return;
    const simple = 'select chr(27) || $$[2J$$ || chr(8238) as x';
    const screen = (await run(['sql', simple], { env, terminal: true })).stdout.replaceAll('\r\n', '\n');
    expect(screen).toContain('\\x1b[2J\\u202e\n');
    expect(withoutColors(screen)).not.toMatch(INVISIBLE);
  });
});

/** Removes only what our own headings, footers and errors contain. */
const withoutColors = (text: string) =>
  ['1', '2', '22', '31', '39'].reduce((rest, code) => rest.replaceAll(`\x1b[${code}m`, ''), text);

test('csv, json and ndjson of sql stay exact', async () => {
  await withInstallation({}, async ({ sluice }) => {
    const query = `select ${literal(HOSTILE)} as t`;
    expect((await sluice('sql', '--format', 'csv', query)).stdout).toBe(`t\r\n${HOSTILE}\r\n`);
    expect((await sluice('sql', '--format', 'json', query)).json()).toEqual([{ t: HOSTILE }]);
    expect(JSON.parse((await sluice('sql', '--format', 'ndjson', query)).stdout)).toEqual({ t: HOSTILE });
  });
});

test('csv-safe leaves no formula for a spreadsheet, and numbers as they are', async () => {
  await withInstallation({}, async ({ sluice }) => {
    const cells = ['=1+1', '+1', '-1.50', '-1e5', '+cmd', '-2+3', '@SUM(1)', '\tx', '\rx', 'a=1', '', null];
    const values = cells.map(cell => (cell === null ? '(null)' : `(${cell === '' ? "''" : literal(cell)})`)).join(',');
    const query = `select t as "=t" from (values ${values}) v(t)`;
    const { stdout } = await sluice('sql', '--format', 'csv-safe', query);
    expect(parse(stdout, { record_delimiter: '\r\n' }).flat()).toEqual([
      "'=t",
      "'=1+1",
      '+1',
      '-1.50',
      '-1e5',
      "'+cmd",
      "'-2+3",
      "'@SUM(1)",
      "'\tx",
      "'\rx",
      'a=1',
      '',
      '',
    ]);
    expect((await sluice('sql', '--json', '--format', 'csv-safe', 'select 1')).code).toBe(2);
  });
});

test('quarantine, status and their documents show nothing of a source raw', async () => {
  await withInstallation({}, async ({ sandbox, database, sluice, sync }) => {
    const [invoice] = sandbox.rows('invoices');
    sandbox.update('invoices', invoice?.id as number, { amount: HOSTILE, status: `${HOSTILE}\n1` });
    const next = `Look at ${HOSTILE}`;
    await sync('invoices');
    await noteTroubles(database.kysely, 'main', [{ kind: 'unauthorized', resource: null, message: HOSTILE, next }]);
    await database.query('update sluice.quarantine set key = $1', [HOSTILE]);

    const visible = async (...args: string[]) => {
      const ended = await sluice(...args);
      expect(ended.stdout + ended.stderr, args.join(' ')).not.toMatch(INVISIBLE);
      return ended;
    };
    expect((await visible('quarantine')).stdout).toContain(SHOWN);
    expect((await visible('quarantine', '--json')).json().records[0].key).toBe(HOSTILE);
    expect((await visible('status')).stdout).toContain(`. ${SHOWN}\nLook at ${SHOWN}\n`);
    await visible('status', '--json');
    await visible('verify');
    await visible('verify', '--json');
  });
});

test('errors, notes and the log quote a source visibly, with colours too', async () => {
  await withInstallation({}, async ({ env, sluice }) => {
    const query = `select ${named(HOSTILE)}`;
    const wrong = await run(['sql', query], { env: { ...env, FORCE_COLOR: '1' } });
    expect(wrong.stderr).toContain(SHOWN);
    expect(wrong.stderr).toContain('\n\x1b[31m');
    expect(withoutColors(wrong.stderr)).not.toMatch(INVISIBLE);
    expect((await sluice('sync', HOSTILE)).stderr).toContain(`Unknown resource "${SHOWN}".`);
  });
});
