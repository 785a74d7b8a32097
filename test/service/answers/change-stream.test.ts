import { expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../src/clock.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { readChanges } from '../../../src/warehouse/reports/changes.ts';
import { withDatabase } from '../../support/database.ts';
import { withService } from '../with-service.ts';

async function logChanges(database: Database, from: number, to: number): Promise<void> {
  await database.query(
    `with logged as (insert into warehouse.change_log (number, resource, key, kind, seen_at)
        select n, 'customers', n::text, 'deleted', now() from generate_series($1::int, $2::int) n)
      insert into sluice.change_numbers (schema, last) values ('warehouse', $2) on conflict (schema) do update set last = excluded.last`,
    [from, to],
  );
}

type Body = ReadableStreamDefaultReader<Uint8Array>;

async function listen(url: string, headers: Record<string, string> = {}): Promise<{ status: number; body: Body }> {
  const response = await fetch(url, { headers });
  return { status: response.status, body: (response.body as ReadableStream<Uint8Array>).getReader() };
}

/** The ids of so many changes that come. */
async function idsOf(body: Body, count: number): Promise<string[]> {
  let text = '';
  for (;;) {
    const ids = [...text.matchAll(/event: change\ndata: (\{.*\})\nid: (\d+)\n\n/g)].map(([, data, id]) => {
      expect(JSON.parse(data ?? '')).toMatchObject({ number: Number(id), resource: 'customers', kind: 'deleted' });
      return id ?? '';
    });
    if (ids.length >= count) return ids;
    text += new TextDecoder().decode((await body.read()).value);
  }
}

test('a listener is told of changes from a number on, and goes on where it was', async () => {
  await withDatabase(async database => {
    await logChanges(database, 1, 700);
    await withService(database, {}, async ({ url }) => {
      const { body } = await listen(`${url}/changes?from=1`);
      expect(await idsOf(body, 700)).toEqual(Array.from({ length: 700 }, (_, index) => `${index + 1}`));
      await logChanges(database, 701, 702);
      expect(await idsOf(body, 2)).toEqual(['701', '702']);
      const again = await listen(`${url}/changes?source=main&from=1`, { 'Last-Event-ID': '701' });
      expect(await idsOf(again.body, 1)).toEqual(['702']);
      // Without a number, those that come.
      const { body: later } = await listen(`${url}/changes`);
      await later.read();
      await logChanges(database, 703, 703);
      expect(await idsOf(later, 1)).toEqual(['703']);
    });
  });
});

test('of large changes, few are read at once, and a listener is told of all', async () => {
  await withDatabase(async database => {
    await logChanges(database, 1, 30);
    await database.query(
      `insert into warehouse.row_history (resource, key, row, valid_from, valid_to, ended_by, number)
       select 'customers', key, jsonb_build_object('id', key::int, 'notes', repeat('x', 200000)), '-infinity', seen_at, 'deleted', number
       from warehouse.change_log`,
    );
    const all = { from: 1, to: 30 };
    expect(await readChanges(database, 'warehouse', all)).toHaveLength(6);
    await withService(database, {}, async ({ url }) => {
      const { body } = await listen(`${url}/changes?from=1`);
      expect(await idsOf(body, 30)).toEqual(Array.from({ length: 30 }, (_, index) => `${index + 1}`));
    });
  });
});

test('what is not kept any more, no number and no source are refused', async () => {
  await withDatabase(async database => {
    await logChanges(database, 1, 20);
    await database.query('delete from warehouse.change_log where number < 11');
    await database.query('update sluice.change_numbers set first = 11');
    await withService(database, {}, async ({ url }) => {
      const answers = await Promise.all(
        ['from=10', 'from=22', 'from=x', 'source=nobody'].map(async query => {
          const response = await fetch(`${url}/changes?${query}`);
          return [response.status, await response.text()];
        }),
      );
      expect(answers).toEqual([
        [410, 'Changes before 11 are no longer kept.\n'],
        [410, 'The newest change is 20: if you know of later ones, the database was restored.\n'],
        [400, 'Expected from=, the number of a change.\n'],
        [404, 'Expected source=, one of main.\n'],
      ]);
    });
  });
});

test('where nothing changes, a listener hears that it is still there', async () => {
  await withDatabase(async database => {
    const hasty: Clock = { ...systemClock, sleep: (_ms, signal) => systemClock.sleep(1, signal) };
    await withService(database, { clock: hasty }, async ({ url }) => {
      const { body } = await listen(`${url}/changes`);
      let text = '';
      while (!text.includes('\n:\n\n')) text += new TextDecoder().decode((await body.read()).value);
      expect(text).not.toContain('event: change');
    });
  });
});

test('a listener is cut off where the database was restored to before its next change', async () => {
  await withDatabase(async database => {
    await logChanges(database, 1, 20);
    await withService(database, {}, async ({ url }) => {
      const { body } = await listen(`${url}/changes?from=19`);
      expect(await idsOf(body, 2)).toEqual(['19', '20']);
      await database.query('update sluice.change_numbers set last = 12');
      for (let read = await body.read(); !read.done; read = await body.read());
    });
  });
});

test('who asks for the headers alone takes nobody the place', async () => {
  await withDatabase(async database => {
    await withService(database, {}, async ({ url }) => {
      for (let asked = 0; asked < 25; asked++)
        expect((await fetch(`${url}/changes`, { method: 'HEAD' })).status).toBe(200);
      const { status, body } = await listen(`${url}/changes`);
      expect(status).toBe(200);
      await body.cancel();
    });
  });
});

test('only who has the token may listen', async () => {
  await withDatabase(async database => {
    await withService(database, { token: 'a-token-of-the-test' }, async ({ url }) => {
      expect((await fetch(`${url}/changes`)).status).toBe(401);
    });
  });
});
