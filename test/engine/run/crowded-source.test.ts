import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import type { LoopEvent } from '../../../src/engine/run/engine.ts';
import { readTraits } from '../../../src/warehouse/ledgers/traits.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

test('how many requests a source serves at once is learnt, reported, and known to the next process', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const sandbox = await openSandbox({ clock, variants: { concurrency: '1' } });
    const refused = () => sandbox.stats.requests.filter(({ status }) => status === 429).length;
    try {
      const events: LoopEvent[] = [];
      const read = async () => {
        const engine = await openEngine(database, sandbox, {
          clock,
          concurrency: 8,
          onEvent: event => events.push(event),
        });
        try {
          return await serveOrders(engine, 'sync');
        } finally {
          await engine.close();
        }
      };
      expect((await read()).map(({ state }) => state)).toEqual(['done', 'done', 'done']);
      const crowded = events.filter(({ kind }) => kind === 'crowded');
      expect(crowded.at(-1)).toEqual({ kind: 'crowded', allowed: 1, concurrency: 8 });
      expect(crowded.length).toBeLessThanOrEqual(3);
      const learnt = (await readTraits(database.kysely, 'main')).find(({ trait }) => trait === 'requests at once');
      expect(learnt).toMatchObject({ resource: '(source)', value: expect.stringMatching(/^[12]$/) });
      const [before, news] = [refused(), crowded.length];
      await read();
      expect(refused() - before).toBeLessThanOrEqual(2);
      // Two at once may be refused once more.
      const later = events.filter(({ kind }) => kind === 'crowded').length - news;
      expect(later).toBeLessThan(Number(learnt?.value));
    } finally {
      await sandbox.close();
    }
  });
});
