import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import type { Variants } from '../../../sandbox/variants/variants.ts';
import { MINUTE } from '../../../src/clock.ts';
import { createRecall } from '../../../src/engine/read/fetch/recall.ts';
import type { Step } from '../../../src/engine/read/step.ts';
import type { Resource } from '../../../src/engine/resource.ts';
import type { Engine } from '../../../src/engine/run/engine.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import type { TestResource } from '../../support/resources.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

interface Given {
  readonly database: Database;
  readonly sandbox: Sandbox;
  readonly engine: Engine;
  /** A quarter of an hour goes by. */
  readonly pass: () => Promise<void>;
  /** Reads everything again; returns how many rows came in answers that were known, and how many in others. */
  readonly verify: () => Promise<{ known: number; read: number }>;
  readonly differing: () => Promise<string[]>;
}

const LISTS: readonly TestResource[] = ['customers', 'invoices', 'transactions'];

async function withSource(variants: Partial<Variants>, work: (given: Given) => Promise<void>): Promise<void> {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const sandbox = await openSandbox({
      ...{ size: { customers: 60, invoices: 90, transactions: 150 }, rateLimit: 0, clock, variants },
    });
    const steps: Step[] = [];
    const engine = await openEngine(database, sandbox, {
      ...{ clock, limit: 10_000, pageSize: 20, resources: LISTS },
      onEvent: event => {
        if (event.kind === 'committed') steps.push(event.step);
      },
    });
    const pass = () => clock.advance(15 * MINUTE);
    const verify = async () => {
      await pass();
      steps.length = 0;
      await serveOrders(engine, 'verify', { repair: true });
      const count = (of: (step: Step) => number) => steps.reduce((sum, step) => sum + of(step), 0);
      return { known: count(({ known }) => known?.keys.length ?? 0), read: count(({ rows }) => rows.length) };
    };
    await serveOrders(engine, 'sync');
    await verify();
    await work({ database, sandbox, engine, pass, verify, differing: () => differences(database, sandbox, 5, LISTS) });
    await engine.close();
    await sandbox.close();
  });
}

const SOURCES: readonly Partial<Variants>[] = [{}, { order: 'id-asc' }, { order: 'date-desc' }, { paging: 'no-meta' }];

test.each(some(SOURCES, 1))('an answer that comes again is not read again (%o)', async variants => {
  await withSource(variants, async ({ verify, differing, engine }) => {
    const before = new Map(engine.resources.map(({ name, entries }) => [name, [...entries.values()]]));
    const { known, read } = await verify();
    expect(known).toBeGreaterThan(3 * read);
    expect(await differing()).toEqual([]);
    for (const { name, entries } of engine.resources)
      for (const { slice, provenAt } of before.get(name) ?? [])
        if (provenAt !== null && ['id', 'date'].includes(slice.by))
          expect(Math.min(...[...entries.values()].flatMap(entry => entry.provenAt ?? []))).toBeGreaterThan(provenAt);
  });
});

test('what was altered before an answer was kept is found by verify, though only hashes were compared then', async () => {
  await withSource({}, async ({ database, engine, pass, verify, differing }) => {
    await database.query(`update warehouse.invoices set notes = 'altered' where id % 7 = 0`);
    await database.query('delete from sluice.answers');
    await pass();
    await serveOrders(engine, 'sync', { whole: true });
    await verify();
    expect(await differing()).toEqual([]);
  });
});

test('a reading of any number of answers recalls those that came before', async () => {
  await withSource({}, async ({ database, engine }) => {
    const [customers] = engine.resources as [Resource];
    const known = await createRecall(database.kysely, 'UTC', 1)(
      customers,
      { by: 'id', from: null, to: null },
      {},
      { from: -20, to: Number.POSITIVE_INFINITY },
    );
    expect(known?.showing(0, 0)?.page).toBe(1);
  });
});

/** What may happen between two readings; the same row may be changed back. */
const change = fc.record({
  what: fc.constantFrom('edit', 'edit', 'insert', 'delete', 'altered row', 'altered child', 'lost child', 'lost row'),
  list: fc.constantFrom('customers', 'invoices', 'transactions'),
  row: fc.nat(1000),
  text: fc.constantFrom('first', 'second'),
});

const TEXT = { customers: 'city', invoices: 'notes', transactions: 'description' } as const;

async function apply(
  { database, sandbox }: Given,
  { what, list, row, text }: typeof change extends fc.Arbitrary<infer T> ? T : never,
) {
  const rows = [...sandbox.rows(list)];
  const { id } = rows[row % rows.length] as { id: number };
  const key = list === 'transactions' ? '_key' : 'id';
  if (what === 'edit') sandbox.update(list, id, { [TEXT[list]]: text } as never);
  else if (what === 'insert') sandbox.insert(list, { ...rows.at(-1), id: undefined, [TEXT[list]]: text } as never);
  else if (what === 'delete') sandbox.remove(list, id);
  else if (what === 'altered row')
    await database.query(`update warehouse.${list} set ${TEXT[list]} = '${text}' where ${key} = '${id}'`);
  else if (what === 'altered child')
    await database.query(`update warehouse.invoice_items set description = '${text}' where invoice_id = ${id}`);
  else if (what === 'lost child') await database.query(`delete from warehouse.invoice_items where invoice_id = ${id}`);
  else await database.query(`delete from warehouse.${list} where ${key} = '${id}'`);
}

/** A deletion is confirmed by further readings. */
const MOST_VERIFIES = 4;

test.each(some(SOURCES, 1))(
  'whatever was changed at the source or in the warehouse, verify --repair makes them equal (%o)',
  async variants => {
    await withSource(variants, async given => {
      await fc.assert(
        fc.asyncProperty(fc.array(change, { maxLength: 6 }), async changes => {
          for (const each of changes) await apply(given, each);
          for (let time = 0; time < MOST_VERIFIES && (time === 0 || (await given.differing()).length > 0); time++)
            await given.verify();
          expect(await given.differing()).toEqual([]);
        }),
        { numRuns: 6 },
      );
    });
  },
);
