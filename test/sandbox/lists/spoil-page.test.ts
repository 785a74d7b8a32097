import { describe, expect, test } from 'vitest';
import { type Fault, listFaults } from '../../../sandbox/faults/fault-kinds.ts';
import type { SandboxOptions } from '../../../sandbox/sandbox.ts';
import { type Body, createManualClock, idsOf, openForTest, request } from '../test-client.ts';

const CUSTOMERS = '/api/v2/customers';

const open = (options: SandboxOptions = {}) => openForTest({ rateLimit: 0, ...options });

describe('list faults', () => {
  const META = { current_page: 1, total_pages: 8, total_records: 150 };
  const spoil = async (fault: Fault): Promise<[Body, Body, Body]> => {
    const sandbox = await open({ clock: createManualClock() });
    const sound = (await request(sandbox, CUSTOMERS)).body;
    expect(sound.meta).toEqual(META);
    sandbox.failNext(fault, 2);
    return [sound, (await request(sandbox, CUSTOMERS)).body, (await request(sandbox, CUSTOMERS)).body];
  };

  test('row-twice', async () => {
    const [sound, body] = await spoil('row-twice');
    const ids = idsOf(sound.data);
    expect(idsOf(body.data)).toEqual([...ids.slice(0, 11), ids[10], ...ids.slice(11)]);
    expect(body.meta).toEqual(META);
  });

  test('rows-missing', async () => {
    const [sound, body] = await spoil('rows-missing');
    expect(body).toEqual({ ...sound, data: sound.data.filter((_row: Body, index: number) => index % 2 === 1) });
  });

  test('rows-unreadable', async () => {
    const [sound, body] = await spoil('rows-unreadable');
    const spoiled = sound.data.map((row: Body) =>
      (row.id as number) % 5 === 0 ? { ...row, account: { error: 'unreadable' } } : row,
    );
    expect(body).toEqual({ ...sound, data: spoiled });
    expect(spoiled).not.toEqual(sound.data);
  });

  test('a fault for certain paths waits for one of them', async () => {
    const sandbox = await open();
    sandbox.failNext('empty-list', 1, /\/(users|products)\b/);
    const counts: number[] = [];
    for (const list of ['customers', 'products', 'users'])
      counts.push((await request(sandbox, `/api/v2/${list}?limit=5`)).body.data.length);
    expect(counts).toEqual([5, 0, 5]);
  });

  test('missing-meta', async () => {
    const [sound, body] = await spoil('missing-meta');
    expect(body).toEqual({ success: true, data: sound.data });
  });

  test('moved-total, up and down', async () => {
    const [sound, one, other] = await spoil('moved-total');
    expect([one.data, other.data]).toEqual([sound.data, sound.data]);
    expect([one.meta.total_records, other.meta.total_records].sort((a, b) => a - b)).toEqual([147, 153]);
  });

  test('empty-list and empty-list-zero', async () => {
    expect((await spoil('empty-list'))[1]).toEqual({ success: true, data: [], meta: META });
    const none = { current_page: 1, total_pages: 1, total_records: 0 };
    expect((await spoil('empty-list-zero'))[1]).toEqual({ success: true, data: [], meta: none });
  });

  test('list-changes: rows are inserted, edited and deleted before a page, and the page is correct', async () => {
    const sandbox = await open();
    sandbox.failNext('list-changes', 20);
    for (let page = 1; page <= 20; page++)
      expect((await request(sandbox, `${CUSTOMERS}?page=${page}`)).status).toBe(200);
    expect(sandbox.changes).toHaveLength(60);
    const kinds = new Set(sandbox.changes.map(({ kind }) => kind.replace(/^.*-/, '')));
    expect([...kinds]).toEqual(expect.arrayContaining(['new', 'deleted']));
    const { body } = await request(sandbox, `${CUSTOMERS}?page=1`);
    expect(body).toMatchObject({ meta: { total_records: [...sandbox.rows('customers')].length } });
  });

  test('an empty list without meta is unchanged', async () => {
    const sandbox = await open({ variants: { paging: 'no-meta', visible: 'none' } });
    for (const fault of listFaults) {
      sandbox.failNext(fault);
      expect((await request(sandbox, '/api/v2/invoices')).body).toEqual({ success: true, data: [] });
    }
  });
});
