// Measures the largest source under its real limit: 1000 requests per hour on an injected clock, as long as it takes.
//   npx tsx bench/extreme.ts [small|medium|large|extreme]
// First sync; a slot after a new, a paid and a back-dated invoice; 2000 changes; verify --repair must find all rows equal.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openSandbox } from '../sandbox/sandbox.ts';
import { HOUR, MINUTE } from '../src/clock.ts';
import { openEmbedded, stopEmbedded } from '../src/embedded-postgres/embedded-server.ts';
import { declareTables } from '../src/engine/records/declare-table.ts';
import { runLoop } from '../src/engine/run/loop.ts';
import { createLog } from '../src/log.ts';
import { openDatabase } from '../src/warehouse/database/database.ts';
import { migrate } from '../src/warehouse/database/migrate.ts';
import { recordSlot } from '../src/warehouse/ledgers/slots.ts';
import { differences } from '../test/support/compare.ts';
import { JOBS } from '../test/support/resources.ts';
import { openEngine, serveOrders } from '../test/support/source.ts';
import { createVirtualClock } from '../test/support/virtual-clock.ts';

const size = (process.argv[2] ?? 'extreme') as 'small' | 'medium' | 'large' | 'extreme';
const home = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
const log = createLog({ level: 'warn' });
const { url } = await openEmbedded({ dataDir: home, log, settings: { fsync: 'off' } });
const database = await openDatabase({ url, applicationName: 'bench', log });
try {
  const folder = (name: string) => fileURLToPath(new URL(`../migrations/${name}`, import.meta.url));
  await migrate({
    database,
    schema: 'warehouse',
    sluiceFolder: folder('sluice'),
    warehouseFolder: folder('warehouse'),
    lists: declareTables(Object.entries(JOBS)),
    timeZone: 'UTC',
  });
  const clock = await createVirtualClock(database);
  const sandbox = await openSandbox({ size, clock });
  const engine = await openEngine(database, sandbox, { clock });
  const began = clock.now();
  const report = async (what: string, more: object = {}) => {
    const { total, rejected, maxInWindow } = sandbox.stats;
    const peakMb = Math.round(process.resourceUsage().maxRSS / 1024);
    const hours = Math.round(((clock.now() - began) / HOUR) * 10) / 10;
    console.log(
      JSON.stringify({
        what,
        hours,
        requests: total,
        rejected,
        maxInWindow,
        realSeconds: Math.round(performance.now() / 1000),
        peakMb,
        ...more,
      }),
    );
  };

  const first = await serveOrders(engine, 'sync');
  await report('first sync', {
    orders: first.map(order => [order.resource, order.reason ?? order.state, order.requests]),
  });
  await report('equal', { differences: await differences(database, sandbox) });

  for (let slot = 0; slot < 4; slot++) {
    const changes = (
      ['invoice-new', 'invoice-paid', 'invoice-backdated', 'transaction-new', 'customer-new'] as const
    ).map(kind => sandbox.change(kind));
    await clock.advance(15 * MINUTE);
    const at = new Date(clock.now());
    for (const { name } of engine.resources) await recordSlot(database.kysely, 'main', name, at);
    await runLoop(engine, { orders: () => false, slots: true }, new AbortController().signal);
    const arrived = [];
    for (const change of changes) {
      const { rows } = await database.query<{ status?: string }>(
        `select * from warehouse.${change.resource} where id = $1`,
        [change.id],
      );
      const source = sandbox.data[change.resource].get(change.id) as { status?: string } | undefined;
      const same = rows[0]?.status === source?.status;
      arrived.push(
        `${change.kind}: ${rows.length === 0 ? 'ABSENT' : same ? 'there' : `${rows[0]?.status}, not ${source?.status}`}`,
      );
    }
    const { rows: runs } = await database.query(
      'select resource, state, requests, slices, updated, reason from sluice.runs order by id desc limit 3',
    );
    await report(`slot ${slot + 1}`, { arrived, runs: runs.map(run => Object.values(run).join(' ')) });
  }

  await clock.advance(15 * MINUTE);
  sandbox.changeRandom(size === 'small' ? 60 : 2000);
  await clock.advance(MINUTE);
  const verify = await serveOrders(engine, 'verify', { repair: true });
  await report('verify --repair', {
    orders: verify.map(order => [order.resource, order.reason ?? order.state, order.requests]),
  });
  await report('equal', { differences: await differences(database, sandbox) });
  await engine.close();
  await sandbox.close();
} finally {
  await database.close();
  await stopEmbedded(home);
  await rm(home, { recursive: true, force: true });
}
