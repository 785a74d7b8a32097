import { expect, test } from 'vitest';
import { createPulse } from '../../../src/service/health/pulse.ts';
import { pendingMigrations } from '../../../src/warehouse/database/migrate.ts';
import { createTestDatabase, MIGRATIONS } from '../../support/database.ts';
import { ask, withService } from '../with-service.ts';

test('healthz reports a stalled sync loop; readyz reports an unreachable database and pending migrations', async () => {
  const empty = await createTestDatabase({ empty: true });
  const database = await empty.open();
  let now = 0;
  const pulse = createPulse(1000, () => now);
  const pending = () => pendingMigrations({ database, ...MIGRATIONS });
  await withService(database, { pulse, pending }, async ({ url }) => {
    pulse.beat('main');
    now = 1000;
    expect((await ask(`${url}/healthz`)).status).toBe(200);
    now = 1001;
    expect(await ask(`${url}/healthz`)).toMatchObject({ status: 503, text: 'Sync loop stalled: main\n' });
    pulse.beat('main');
    expect((await ask(`${url}/healthz`)).status).toBe(200);
    pulse.rest('main');
    now = 1_000_000;
    expect((await ask(`${url}/healthz`)).status).toBe(200);

    const unready = await ask(`${url}/readyz`);
    expect([unready.status, unready.text]).toEqual([503, expect.stringContaining('sluice migrate')]);
    await database.close();
    expect(await ask(`${url}/readyz`)).toMatchObject({ status: 503 });
    expect((await ask(`${url}/healthz`)).status).toBe(200);
  });
  await empty.drop();
});
