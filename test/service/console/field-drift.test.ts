import { expect, test } from 'vitest';
import { driftText } from '../../../src/engine/profile/field-drift.ts';
import { writeTrait } from '../../../src/warehouse/ledgers/traits.ts';
import { withDatabase } from '../../support/database.ts';
import { ask, servedSource, withService } from '../with-service.ts';

test('the page of a source shows fields that appeared or vanished in the last month, without markup or secrets of theirs', async () => {
  await withDatabase(async database => {
    const { kysely } = database;
    const now = Date.now();
    const monthAgo = now - 31 * 86_400_000;
    const drift = {
      learningSince: null,
      unknown: new Map([
        ['<b>new</b>', now],
        ['secret-1', now],
        ['toString', now],
        ['of_old', monthAgo],
        ['from_the_start', null],
        // Declared since then.
        ['notes', now],
      ]),
      vanished: new Map([
        ['amount', { since: now, isBack: false }],
        ['due_date', { since: now, isBack: true }],
        // Declared no longer.
        ['colour', { since: now, isBack: false }],
      ]),
    };
    const value = driftText(drift);
    await writeTrait(kysely, 'main', { resource: 'invoices', trait: 'drift', value, evidence: '' });
    await writeTrait(kysely, 'main', { resource: 'of_no_job', trait: 'drift', value, evidence: '' });
    const hide = (text: string) => text.replaceAll('secret-1', '[secret]');
    await withService(database, { hide, sources: [servedSource(database)] }, async ({ url }) => {
      const { text } = await ask(`${url}/sources/main`);
      const found = [...text.matchAll(/<h3>invoices\.(.*?)<\/h3><span class="soft">(\w+) since/g)];
      expect(found.map(([, field, kind]) => `${field} ${kind}`)).toEqual([
        '&lt;b&gt;new&lt;/b&gt; new',
        '[secret] new',
        'toString new',
        'amount vanished',
      ]);
      expect(text).not.toContain('secret-1');
      const { drift: told } = JSON.parse((await ask(`${url}/status.json?source=main`)).text) as { drift: object[] };
      expect(told).toContainEqual({
        resource: 'invoices',
        field: 'amount',
        kind: 'vanished',
        since: new Date(now).toISOString(),
        meaning: 'No row carries it any more. What is stored stays until the loss is accepted.',
      });
    });
  });
});
