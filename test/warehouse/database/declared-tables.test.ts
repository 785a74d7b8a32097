import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type Clock, MINUTE } from '../../../src/clock.ts';
import {
  date,
  dateWindow,
  decimal,
  defineJob,
  integer,
  integer32,
  type Job,
  list,
  text,
  timestamp,
  value,
} from '../../../src/engine/job.ts';
import { declareTables } from '../../../src/engine/records/declare-table.ts';
import { createLog } from '../../../src/log.ts';
import { type Database, openDatabase } from '../../../src/warehouse/database/database.ts';
import { type MigrationOptions, migrate, pendingMigrations } from '../../../src/warehouse/database/migrate.ts';
import { createTestDatabase, MIGRATIONS, withDatabase } from '../../support/database.ts';
import { JOBS } from '../../support/resources.ts';

const job = (more: z.ZodRawShape = {}, rest: Partial<Job> = {}): Job =>
  defineJob({
    path: '/api/v2/leads',
    description: 'A lead.',
    key: 'id',
    record: z.object({ id: integer('The id.'), name: text('The name.'), ...more }),
    slicings: [],
    ...rest,
  });

const optionsFor = (
  database: Database,
  jobs: Record<string, Job>,
  more: Partial<MigrationOptions> = {},
): MigrationOptions => ({ database, ...MIGRATIONS, lists: declareTables(Object.entries(jobs)), ...more });

const ask = async (database: Database, query: string) => (await database.query(query)).rows;

const store = (database: Database, key: string, extra: unknown) =>
  database.query(
    `insert into warehouse.leads (_key, id, name, _extra, _synced_at, _read_at) values ($1, 1, 'A', $2, '2026-01-15', '2026-01-15')`,
    [key, JSON.stringify(extra)],
  );

test('after the migrations, an empty database lacks nothing that the jobs of this version declare', async () => {
  const own = await createTestDatabase({ empty: true });
  const database = await own.open();
  const run = await migrate({ database, ...MIGRATIONS });
  expect(run.filter(name => !/^(sluice|warehouse)\/\d{4}_\w+$/.test(name))).toEqual([]);
  await database.close();
  await own.drop();
});

test('a new list gets its table, those of its children, indexes and a history view', async () => {
  await withDatabase(async database => {
    const items = list(z.object({ what: text('What.'), price: decimal('Price.') }));
    const leads = job(
      { seen: date('When.'), status: text('Status.'), items },
      {
        children: { items: { table: 'lead_items', parent: 'lead_key', description: 'An item of a lead.' } },
        slicings: [dateWindow('seen', 'from', 'to'), value('status', ['Open'])],
      },
    );
    const options = optionsFor(database, { leads });
    expect(await pendingMigrations(options)).toEqual(['warehouse/leads', 'warehouse/lead_items']);
    expect(await migrate(options)).toEqual(['warehouse/leads', 'warehouse/lead_items']);
    expect(await pendingMigrations(options)).toEqual([]);
    const columns = `select c.relname || ': ' || string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then '!' else '' end, ', ' order by a.attnum) as columns
      from pg_class c join pg_attribute a on a.attrelid = c.oid where c.relname in ('leads', 'lead_items', 'leads_history') and a.attnum > 0 group by c.oid order by 1 desc`;
    expect((await ask(database, columns)).map(row => row.columns)).toEqual([
      'leads_history: _key text, id bigint, name text, seen date, status text, _extra jsonb, _synced_at timestamp with time zone, _read_at timestamp with time zone, items jsonb, valid_from timestamp with time zone, valid_to timestamp with time zone, ended_by text',
      'leads: _key text!, id bigint, name text, seen date, status text, _hash bytea, _extra jsonb, _synced_at timestamp with time zone!, _read_at timestamp with time zone!',
      'lead_items: lead_key text!, line integer!, what text, price numeric, _extra jsonb',
    ]);
    const indexes = `select array_agg(substring(indexdef from '\\((.*)\\)') order by substring(indexdef from '\\((.*)\\)') collate "C") as on from pg_indexes where tablename in ('leads', 'lead_items')`;
    expect(await ask(database, indexes)).toEqual([
      { on: ['_key', '_synced_at', 'id', 'lead_key, line', 'seen', 'status'] },
    ]);
  });
});

test('values move exactly from _extra into new columns; one that cannot be read stays, and is reported once', async () => {
  await withDatabase(async database => {
    await migrate(optionsFor(database, { leads: job() }));
    const odd = 'Zoë "Ωmega" \\ \n {a,b} NULL';
    await store(database, 'a', { note: odd, seen: '2024-02-29', made_at: '2026-01-15 10:00:00', size: 7, other: 1 });
    await database.query(
      `update warehouse.leads set _extra = _extra || '{"total": 12345678901234567890.1234567890, "owner": 9007199254740993}'`,
    );
    await store(database, 'b', { seen: 'soon', note: null, size: 3e9, total: '' });
    await store(database, 'c', { other: [1] });
    const more = {
      note: text(),
      seen: date(),
      made_at: timestamp(),
      size: integer32(),
      total: decimal(),
      owner: integer(),
    };
    const notices: string[] = [];
    const options = optionsFor(
      database,
      { leads: job(more) },
      { timeZone: 'Europe/Vienna', onNotice: text => notices.push(text) },
    );
    expect(await migrate(options)).toEqual(Object.keys(more).map(name => `warehouse/leads.${name}`));
    expect(await migrate(options)).toEqual([]);
    expect(
      await ask(
        database,
        `select note, seen::text, made_at::text, size, total::text, owner::text, _extra, _read_at::text as read from warehouse.leads order by _key`,
      ),
    ).toEqual([
      {
        note: odd,
        seen: '2024-02-29',
        made_at: '2026-01-15 09:00:00+00',
        size: 7,
        total: '12345678901234567890.123456789',
        owner: '9007199254740993',
        _extra: { other: 1 },
        read: '2026-01-15 00:00:00+00',
      },
      ...[{ seen: 'soon', size: 3e9 }, { other: [1] }].map(extra => ({
        ...Object.fromEntries(Object.keys(more).map(name => [name, null])),
        _extra: extra,
        read: '2026-01-15 00:00:00+00',
      })),
    ]);
    expect(notices).toEqual([
      'leads.seen: 1 value in _extra cannot be converted and stays there until its row is read again.',
      'leads.size: 1 value in _extra cannot be converted and stays there until its row is read again.',
    ]);
  });
});

test('a warehouse of 0.2.0 keeps its rows, its history and what its owner added', async () => {
  await withDatabase(async database => {
    await database.query(`
      alter table warehouse.customers add column our_note text default 'ours';
      create schema own;
      create view own.versions as select * from warehouse.customers_history;
      create view own.names as select id, account, our_note from warehouse.customers;
      insert into warehouse.customers (id, account, _extra, _synced_at, _read_at)
        values (1, 'A', '{"vat": "ATU1", "more": true}', '2026-01-15', '2026-01-15');
      insert into warehouse.row_history (resource, key, row, valid_from, valid_to, ended_by)
        values ('customers', '2', '{"id": 2, "account": "B", "_extra": {"vat": "ATU2"}}', '2026-01-01', '2026-01-10', 'deleted')`);
    const customers: Job = {
      ...JOBS.customers,
      record: JOBS.customers.record.extend({ vat: text('The VAT number.') }),
    };
    expect(await migrate(optionsFor(database, { ...JOBS, customers }))).toEqual(['warehouse/customers.vat']);
    expect(await ask(database, 'select id, account, vat, our_note, _extra from warehouse.customers')).toEqual([
      { id: '1', account: 'A', vat: 'ATU1', our_note: 'ours', _extra: { more: true } },
    ]);
    expect(await ask(database, 'select id, account, our_note from own.names')).toHaveLength(1);
    expect(await ask(database, 'select id, valid_to::date::text as until from own.versions order by id')).toEqual([
      { id: '1', until: null },
      { id: '2', until: '2026-01-10' },
    ]);
    // An earlier version stays as it was stored.
    expect(
      await ask(database, `select id, vat, our_note, _extra, ended_by from warehouse.customers_as_of('2026-01-05')`),
    ).toEqual([{ id: '2', vat: null, our_note: null, _extra: { vat: 'ATU2' }, ended_by: 'deleted' }]);
    expect(await ask(database, `select id, vat, our_note from warehouse.customers_as_of('2026-01-20')`)).toEqual([
      { id: '1', vat: 'ATU1', our_note: 'ours' },
    ]);
  });
});

test('a field, a list of children or a slicing that a job no longer declares leaves the table as it is', async () => {
  await withDatabase(async database => {
    const items = list(z.object({ what: text() }));
    const children = { items: { table: 'lead_items', parent: 'lead_key' } };
    await migrate(
      optionsFor(database, { leads: job({ city: text(), items }, { children, slicings: [value('city')] }) }),
    );
    await store(database, 'a', { zip: '1010' });
    await database.query(`update warehouse.leads set city = 'Wien'`);
    expect(await migrate(optionsFor(database, { leads: job() }))).toEqual([]);
    expect(await migrate(optionsFor(database, { leads: job({ zip: text() }) }))).toEqual(['warehouse/leads.zip']);
    expect(await ask(database, 'select city, zip, items from warehouse.leads_history')).toEqual([
      { city: 'Wien', zip: '1010', items: null },
    ]);
  });
});

test('a new slicing gets its index', async () => {
  await withDatabase(async database => {
    await migrate(optionsFor(database, { leads: job() }));
    expect(await migrate(optionsFor(database, { leads: job({}, { slicings: [value('name')] }) }))).toEqual([
      'warehouse/leads(name)',
    ]);
  });
});

test('a column of another type or another key is refused with the place, both types and the next step', async () => {
  await withDatabase(async database => {
    await migrate(optionsFor(database, { leads: job({ total: text() }) }));
    const other = optionsFor(database, { leads: job({ total: decimal(), more: text() }) });
    const refusal = {
      kind: 'configuration',
      message: 'Column warehouse.leads.total has the type text, but jobs/leads.ts declares numeric.',
      next: expect.stringContaining('alter table warehouse.leads alter column total type numeric'),
    };
    await expect(pendingMigrations(other)).rejects.toMatchObject(refusal);
    await expect(migrate(other)).rejects.toMatchObject(refusal);
    expect(
      await ask(
        database,
        `select 1 from pg_attribute where attname = 'more' and attrelid = 'warehouse.leads'::regclass`,
      ),
    ).toEqual([]);

    const keyed = { kind: 'configuration', message: expect.stringContaining('jobs/leads.ts declares the key "id"') };
    await expect(
      migrate(optionsFor(database, { leads: job({ total: text() }, { withoutKey: 'quarantine' }) })),
    ).rejects.toMatchObject(keyed);
    await expect(
      migrate(optionsFor(database, { ...JOBS, customers: { ...JOBS.customers, withoutKey: 'content' } })),
    ).rejects.toMatchObject({ kind: 'configuration', message: expect.stringContaining('no column "_key"') });
  });
});

test('processes that meet a new list at the same moment create it once', async () => {
  const own = await createTestDatabase();
  const processes = await Promise.all([own.open('a'), own.open('b'), own.open('c')]);
  const run = await Promise.all(processes.map(database => migrate(optionsFor(database, { leads: job() }))));
  expect(run.flat()).toEqual(['warehouse/leads']);
  await Promise.all(processes.map(database => database.close()));
  await own.drop();
});

test('a table that was dropped is created again, and nothing of it counts as proven', async () => {
  await withDatabase(async database => {
    const options = optionsFor(database, { leads: job() });
    await migrate(options);
    await database.query(`
      insert into sluice.sources (source, address, schema, since) values ('main', 'http://x', 'warehouse', now()), ('other', 'http://y', 'else', now());
      insert into sluice.coverage (source, resource, slice, proven_at) values ('main', 'leads', 'whole', now()), ('other', 'leads', 'whole', now()), ('main', 'invoices', 'whole', now());
      drop table warehouse.leads cascade`);
    expect(await migrate(options)).toEqual(['warehouse/leads']);
    expect(await ask(database, 'select source, resource from sluice.coverage order by 1, 2')).toEqual([
      { source: 'main', resource: 'invoices' },
      { source: 'other', resource: 'leads' },
    ]);
  });
});

test('a list waits for a session that keeps a lock on its table', async () => {
  await withDatabase(async database => {
    await migrate(optionsFor(database, { leads: job() }));
    const reader = await database.connect('a BI tool');
    await reader.query('begin; select * from warehouse.leads');
    const notices: string[] = [];
    let at = 0;
    const clock: Clock = {
      now: () => at,
      elapsed: () => at,
      async sleep() {
        at += MINUTE;
        await reader.query('rollback');
      },
    };
    const leads = job({ city: text() });
    expect(await migrate(optionsFor(database, { leads }, { clock, onNotice: text => notices.push(text) }))).toEqual([
      'warehouse/leads.city',
    ]);
    expect(notices).toEqual([expect.stringContaining('application "a BI tool"')]);
    await reader.end();
  });
});

test('a login that may not create tables gets the same error as for a migration', async () => {
  await withDatabase(async (database, own) => {
    await database.query(
      `grant usage on schema warehouse, sluice to public; grant select on all tables in schema warehouse, sluice to public`,
    );
    const role = `poor_${process.pid}_${Date.now()}`;
    const admin = await openDatabase({
      url: own.adminUrl,
      applicationName: 'test',
      log: createLog({ level: 'silent' }),
    });
    await admin.query(`create role ${role} login password 'x'`);
    const url = Object.assign(new URL(own.url), { username: role, password: 'x' }).href;
    const poor = await openDatabase({ url, applicationName: 'test', log: createLog({ level: 'silent' }) });
    await expect(migrate(optionsFor(poor, { leads: job() }))).rejects.toMatchObject({
      kind: 'database',
      message: expect.stringContaining('this user lacks a permission'),
      next: expect.stringContaining('own those that exist'),
    });
    await poor.close();
    await admin.query(`drop owned by ${role}; drop role ${role}`);
    await admin.close();
  });
});

/** A list of which a file in `lists/` declares these fields. */
const withFile = (fields: z.ZodRawShape, items?: z.ZodRawShape): Job =>
  job(items ? { ...fields, items: list(z.object(items)) } : fields, {
    ...(items ? { children: { items: { table: 'lead_items', parent: 'lead_key' } } } : {}),
    listFile: 'lists/leads.json',
    tolerated: [...Object.keys(fields), ...Object.keys(items ?? {}).map(name => `items.${name}`)],
  });

const VALUES: Record<string, readonly unknown[]> = {
  project: ['Alpha', 'Zoë "Ω" \\', null, 12],
  hours: [1.5, 12, -3, 'many', 12345678901234.25],
  seen: ['2026-01-15', 'soon', '2024-02-29'],
  items: [
    [
      { what: 'A', price: 2 },
      { price: 'free', more: [1] },
    ],
    [{ what: 'B' }],
  ],
};
const KINDS = { text, decimal, integer, date };
const ITEMS = `|| jsonb_build_object('items', (select coalesce(jsonb_agg(to_jsonb(i) - 'lead_key' order by i.line), '[]') from warehouse.lead_items i where i.lead_key = t._key))`;
const declaration = fc.record(
  {
    project: fc.constantFrom('text', 'decimal'),
    hours: fc.constantFrom('decimal', 'integer', 'text'),
    seen: fc.constantFrom('date', 'text'),
    items: fc.constantFrom('none', 'what', 'price'),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<
  Partial<Record<'project' | 'hours' | 'seen', keyof typeof KINDS> & { items: 'none' | 'what' | 'price' }>
>;

test('fields that a file adds, changes and drops in any order leave what a fresh table of the last declaration has', async () => {
  const own = await createTestDatabase();
  const database = await own.open();
  const read = (given: typeof declaration extends fc.Arbitrary<infer T> ? T : never): Job => {
    const { items, ...fields } = given;
    const shape = Object.fromEntries(Object.entries(fields).map(([name, kind]) => [name, KINDS[kind]()]));
    const inner = items === 'what' ? { what: text() } : items === 'price' ? { what: text(), price: decimal() } : {};
    return withFile(shape, items === undefined ? undefined : inner);
  };
  const optionsOf = (declared: Job) => optionsFor(database, { leads: declared }, { putsBack: true });
  const fill = async () => {
    for (const [index, seed] of [0, 1, 2, 3, 4].entries())
      await store(
        database,
        `k${index}`,
        Object.fromEntries(
          Object.entries(VALUES).flatMap(([name, all]) => (all[seed] === undefined ? [] : [[name, all[seed]]])),
        ),
      );
  };
  const empty = () =>
    database.query(
      'drop function if exists warehouse.leads_as_of; drop view if exists warehouse.leads_history; drop table if exists warehouse.leads, warehouse.lead_items; delete from sluice.declared_fields; delete from warehouse.row_history',
    );
  const plain = (value: unknown): unknown => {
    if (typeof value === 'number') return String(value);
    if (value === null || typeof value !== 'object') return value;
    if (Array.isArray(value)) return value.map(plain);
    const inside = Object.entries(value).flatMap(([name, inner]) => {
      const text = plain(inner);
      return text === null ? [] : [[name, text] as const];
    });
    return inside.length === 0 ? null : Object.fromEntries(inside);
  };
  /** Each row as its table shows it; numbers as texts, since a column does not tell how its value was written. */
  const rows = async () => {
    const stored = await ask(
      database,
      'select to_jsonb(t) - array[$$_hash$$] as row from warehouse.leads t order by _key',
    );
    const hasItems = (await ask(database, `select to_regclass('warehouse.lead_items') is not null as is`))[0]?.is;
    const items = hasItems
      ? await ask(database, 'select to_jsonb(t) as row from warehouse.lead_items t order by lead_key, line')
      : [];
    return [...stored, ...items].map(({ row }) => plain(row));
  };
  await fc.assert(
    fc.asyncProperty(fc.array(declaration, { minLength: 1, maxLength: 4 }), async declarations => {
      await empty();
      await migrate(optionsOf(withFile({})));
      await fill();
      for (const each of declarations) {
        await migrate(optionsOf(read(each)));
        // Versions of this moment, in whose types later ones must still be readable.
        const items = each.items === undefined ? '' : ITEMS;
        await database.query(`insert into warehouse.row_history (resource, key, row, valid_from, valid_to, ended_by)
          select 'leads', _key, to_jsonb(t) ${items}, '2026-01-15', '2026-01-16', 'changed' from warehouse.leads t`);
      }
      await ask(database, 'select * from warehouse.leads_history');
      // Lists that were put back stand in versions as in rows.
      const lists = await ask(
        database,
        `select h.row->'_extra'->'items' as was, t._extra->'items' as is from warehouse.row_history h join warehouse.leads t on t._key = h.key
         where h.row->'_extra' ? 'items' and t._extra ? 'items'`,
      );
      expect(lists.map(({ was }) => plain(was))).toEqual(lists.map(({ is }) => plain(is)));
      const last = declarations.at(-1) as (typeof declarations)[number];
      expect(await migrate(optionsOf(read(last)))).toEqual([]);
      const changed = await rows();
      await empty();
      await migrate(optionsOf(withFile({})));
      await fill();
      await migrate(optionsOf(read(last)));
      expect(changed).toEqual(await rows());
    }),
    { numRuns: process.env.SLUICE_TESTS === 'all' ? 200 : 4 },
  );
  await database.close();
  await own.drop();
}, 600_000);

test('what no file declares any more is put back only where that was asked for', async () => {
  await withDatabase(async database => {
    await migrate(optionsFor(database, { leads: job() }));
    await store(database, 'a', { made_at: '2026-01-15T10:00:00Z', note: 'x' });
    const declared = optionsFor(
      database,
      { leads: withFile({ made_at: timestamp(), note: text() }) },
      { timeZone: 'Europe/Vienna' },
    );
    expect(await migrate(declared)).toEqual(['warehouse/leads.made_at', 'warehouse/leads.note']);
    const without = optionsFor(database, { leads: withFile({ note: text() }) }, { timeZone: 'Europe/Vienna' });
    await expect(migrate(without)).rejects.toThrow(
      'warehouse has leads.made_at from lists/leads.json, which no longer declares it like that. Nothing was changed.',
    );
    await expect(pendingMigrations(without)).rejects.toThrow('no longer declares');
    expect(await pendingMigrations({ ...without, putsBack: true })).toEqual(['warehouse/leads.made_at into _extra']);
    expect(await migrate({ ...without, putsBack: true })).toEqual(['warehouse/leads.made_at into _extra']);
    expect(await ask(database, 'select note, _extra from warehouse.leads')).toEqual([
      { note: 'x', _extra: { made_at: '2026-01-15T11:00:00+01:00' } },
    ]);
    expect(await migrate(declared)).toEqual(['warehouse/leads.made_at']);
    expect(await ask(database, 'select made_at::text, _extra from warehouse.leads')).toEqual([
      { made_at: '2026-01-15 10:00:00+00', _extra: null },
    ]);
    // A column that somebody dropped is declared still, and so created again.
    await database.query('drop view warehouse.leads_history cascade; alter table warehouse.leads drop column note');
    expect(await migrate({ ...without, putsBack: true })).toEqual([
      'warehouse/leads.made_at into _extra',
      'warehouse/leads.note',
    ]);
  });
});

test('a constraint of its owner that waits for the end of a transaction keeps no field from being put back', async () => {
  await withDatabase(async database => {
    const declared = optionsFor(database, { leads: withFile({ note: text() }) });
    await migrate(declared);
    await store(database, 'a', {});
    await database.query(`update warehouse.leads set note = 'x';
      create function public.pass() returns trigger language plpgsql as $$ begin return null; end $$;
      create constraint trigger late after update on warehouse.leads deferrable initially deferred
        for each row execute function public.pass()`);
    await migrate({ ...declared, lists: declareTables([['leads', withFile({})]]), putsBack: true });
    expect(await ask(database, 'select _extra from warehouse.leads')).toEqual([{ _extra: { note: 'x' } }]);
  });
});

test('the fields of a list of a file change only where no row is told apart by them', async () => {
  await withDatabase(async database => {
    const own = (more: z.ZodRawShape) => {
      const record = z.object({ id: integer(), name: text(), ...more });
      return job({}, { record, listFile: 'lists/leads.json', tolerated: ['name', ...Object.keys(more)] });
    };
    await migrate(optionsFor(database, { leads: own({}) }));
    await store(database, '#00-1', { note: 'x' });
    const wider = optionsFor(database, { leads: own({ note: text() }) });
    await expect(migrate(wider)).rejects.toMatchObject({
      kind: 'configuration',
      message:
        'Fields of warehouse.leads are to change, but some of its rows have no id and are told apart by what they hold.',
      next: expect.stringContaining('sluice reset leads'),
    });
    await database.query(`update warehouse.leads set _key = '7'`);
    expect(await migrate(wider)).toEqual(['warehouse/leads.note']);
  });
});

test('earlier versions keep what is put back, and a closed month keeps what it reads', async () => {
  await withDatabase(async database => {
    const optionsOf = (leads: Job) => optionsFor(database, { leads }, { putsBack: true });
    await migrate(optionsOf(withFile({ note: text(), seen: date() }, { what: text() })));
    await store(database, 'a', { other: 1 });
    await database.query(`update warehouse.leads set note = 'x'`);
    await database.query(`insert into warehouse.row_history (resource, key, row, valid_from, valid_to, ended_by)
      values ('leads', 'a', '{"_key": "a", "note": "old", "_extra": {"more": 1}, "items": [{"line": 1, "what": "A", "_extra": null}]}', '2026-01-15', '2026-01-16', 'changed')`);
    await migrate(optionsOf(withFile({ note: decimal(), seen: date() }, {})));
    expect(
      await ask(database, 'select note::text, _extra, items from warehouse.leads_history order by valid_to'),
    ).toEqual([
      { note: null, _extra: { more: 1, note: 'old' }, items: [{ line: 1, _extra: { what: 'A' } }] },
      { note: null, _extra: { other: 1, note: 'x' }, items: [] },
    ]);
    await database.query(`with s as (insert into sluice.seals (source, month, sealed_at, digest) values ('main', '2025-03', now(), '') returning id)
      insert into sluice.sealed_lists (seal_id, resource, schema, date_field, children, rows, sums, digest)
      select id, 'leads', 'warehouse', 'seen', '[{"field": "items", "table": "lead_items", "parent": "lead_key"}]', 0, '{}', '' from s`);
    for (const leads of [withFile({ note: text() }, {}), withFile({ note: text(), seen: date() })])
      await expect(migrate(optionsOf(leads))).rejects.toThrow('belongs to closed months (2025-03)');
    expect(await migrate(optionsOf(withFile({ seen: date() }, {})))).toEqual(['warehouse/leads.note into _extra']);
  });
});

test('the table of a list inside follows its field and the column that names the row', async () => {
  await withDatabase(async database => {
    const given = (field: string, parent: string) => ({
      ...withFile({}),
      record: job({ [field]: list(z.object({ what: text() })) }).record,
      children: { [field]: { table: 'lead_items', parent } },
      tolerated: [`${field}.what`],
    });
    const optionsOf = (leads: Job) => optionsFor(database, { leads }, { putsBack: true });
    await migrate(optionsOf(withFile({})));
    await store(database, 'a', { items: [{ what: 'A' }], positions: [{ what: 'B' }] });
    await migrate(optionsOf(given('items', 'lead_key')));
    expect(await migrate(optionsOf(given('positions', 'lead')))).toEqual([
      'warehouse/leads.items into _extra',
      'warehouse/lead_items',
    ]);
    expect(await ask(database, 'select lead, what from warehouse.lead_items')).toEqual([{ lead: 'a', what: 'B' }]);
    expect(await ask(database, 'select _extra from warehouse.leads')).toEqual([{ _extra: { items: [{ what: 'A' }] } }]);
    await database.query('drop view warehouse.leads_history cascade; drop table warehouse.lead_items');
    expect(await migrate(optionsOf(withFile({})))).toEqual(['warehouse/leads_history']);
  });
});

test('for a closed month a value that became a column says the same', async () => {
  await withDatabase(async database => {
    const same = async (a: unknown, b: unknown) =>
      (await ask(database, `select sluice.is_same('${JSON.stringify(a)}', '${JSON.stringify(b)}') as is`))[0]?.is;
    expect(await same('2.50', 2.5)).toBe(true);
    expect(await same({ a: ['1.0'] }, { a: [1] })).toBe(true);
    expect(await same('2026-01-15T10:00:00Z', '2026-01-15T11:00:00+01:00')).toBe(true);
    expect(await same('2.51', 2.5)).toBe(false);
    expect(await same('007', '7')).toBe(false);
    expect(await same('2026-01-15T10:00:00Z', '2026-01-15T10:00:00+01:00')).toBe(false);
    expect(await same('2026-13-45T10:00:00Z', '2026-13-46T10:00:00Z')).toBe(false);
    expect(await same('', 0)).toBe(false);
  });
});
