import { expect, test } from 'vitest';
import { parseRows } from '../../../src/engine/read/answer/parse-rows.ts';
import { openResource } from '../../../src/engine/resource.ts';
import { withDatabase } from '../../support/database.ts';
import { JOBS } from '../../support/resources.ts';

test('equal records that cannot be read are numbered within an answer: one more of them may be a row that turned into it', () =>
  withDatabase(async database => {
    const users = await openResource(database.kysely, {
      source: 'main',
      name: 'users',
      job: JOBS.users,
      schema: 'warehouse',
    });
    const keysOf = (rows: unknown[]) =>
      parseRows(users, { rows, grantedAt: '2026-01-15T10:00:00Z' }, new Set()).bad.map(({ key }) => key);
    const [one] = keysOf([null]);
    expect(keysOf([null, null, 7, null])).toEqual([one, `${one}/2`, expect.stringMatching(/^\?/), `${one}/3`]);
  }));
