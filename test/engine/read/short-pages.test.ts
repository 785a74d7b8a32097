import { expect, test } from 'vitest';
import { profileOf } from '../../../src/engine/profile/source-profile.ts';
import type { Reader } from '../../../src/engine/read/fetch/fetch-page.ts';
import { readIds } from '../../../src/engine/read/ids/read-ids.ts';
import { adopt, createResource } from '../../../src/engine/resource.ts';
import { createTask } from '../../../src/engine/task/task.ts';
import type { Client } from '../../../src/source/client.ts';
import { withDatabase } from '../../support/database.ts';
import { JOBS } from '../../support/resources.ts';

const NOW = '2026-01-15T12:00:00.000Z';

/** A page is cut from ids 30 to 1, and then loses those that the key may not see. */
const page = (number: number, limit: number) =>
  Array.from({ length: 30 }, (_, index) => 30 - index)
    .slice((number - 1) * limit, number * limit)
    .filter(id => id <= 23);

test('a range that begins behind a short page is read with the next page, even in a single answer', async () => {
  await withDatabase(async database => {
    const job = JOBS.customers;
    const resource = createResource({ source: 'main', name: 'customers', job, schema: 'warehouse' });
    const traits = { order: 'id-desc', limit: 'honoured', 'page size': '20' };
    adopt(
      resource,
      profileOf(
        Object.entries(traits).map(([trait, value]) => ({
          resource: 'customers',
          trait,
          value,
          evidence: '',
        })) as never,
      ),
    );
    await database.query(
      `insert into warehouse.customers (id, _read_at, _synced_at) select id, now(), now() from generate_series(1, 23) id`,
    );
    const list: Client['list'] = async (_path, _query, { page: number = 1, limit = 20 }) => ({
      kind: 'rows',
      rows: page(number, limit).map(id => ({ id })),
      meta: { currentPage: number, totalPages: Math.ceil(23 / limit), totalRecords: 23 },
      ...{ grantedAt: NOW, requests: 1, bytes: 0 },
    });
    const reader: Reader = {
      client: { list } as Client,
      pageSize: 'auto',
      ahead: 1,
      signal: new AbortController().signal,
      admit: async ask => ({ value: await ask(), release: () => undefined }),
      othersAnswering: () => [],
      recall: async () => null,
    };
    const task = createTask({ kind: 'sync', resource, runId: '1', since: Date.parse(NOW) } as never);
    const proven: bigint[] = [];
    for await (const { end } of readIds(reader, database, task, { by: 'id', from: null, to: 10n }, 1))
      if (end?.kind === 'proven' && end.slice.by === 'id') proven.push(end.slice.from ?? 0n);
    expect(proven.some(from => from < 10n)).toBe(true);
  });
});
