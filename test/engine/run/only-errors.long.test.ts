import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test, vi } from 'vitest';
import type { Fault } from '../../../sandbox/faults/fault-kinds.ts';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { HOUR } from '../../../src/clock.ts';
import { newMemory } from '../../../src/engine/run/agenda.ts';
import { createLog } from '../../../src/log.ts';
import { recordIncidents, sendAlerts } from '../../../src/service/incidents/incident-monitor.ts';
import { FAILURES } from '../../../src/source/requests/retry.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveTick } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

vi.setConfig({ testTimeout: 180_000 });

const ERRORS: Fault[] = ['json-500', 'html-502', 'json-503-seconds', 'drop', 'html-200', 'reset-body', 'cut-json'];
const TICKS = 6;
const EVERY_MS = 4 * HOUR;

test('a source that fails for a day gets few requests and one alert, and the next tick makes all rows equal', async () => {
  await withReceiver(async (alertUrl, alerts) => {
    await withDatabase(async database => {
      const clock = await createVirtualClock(database, undefined, { quietMs: 2 });
      const sandbox = await openSandbox({ clock });
      const engine = await openEngine(database, sandbox, { clock });
      const scheduled = engine.resources.map(({ name }) => name);
      const log = createLog({ level: 'silent' });
      const watched = { database, sources: [], alertUrl, freshnessLimitMs: HOUR, hide: String, clock, log };
      const main = { name: 'main', schema: 'warehouse', timeZone: 'UTC', jobs: new Map(), scheduled };
      const look = () =>
        recordIncidents(watched, main).then(() => sendAlerts(watched, main, new AbortController().signal));
      const agenda = newMemory();
      const tick = async () => {
        const at = clock.now();
        await serveTick(engine, 50, agenda);
        await look();
        await look();
        await clock.advance(at + EVERY_MS - clock.now());
      };
      await tick();
      expect(await differences(database, sandbox)).toEqual([]);

      for (let request = 0; request < 10_000; request++) sandbox.failNext(ERRORS[request % ERRORS.length] as Fault);
      const before = sandbox.stats.total;
      for (let time = 0; time < TICKS; time++) {
        sandbox.changeRandom(3);
        await tick();
      }
      // A run gives up once its first slice has failed this often, and does not try the other slices of its resource.
      const most = TICKS * engine.resources.length * FAILURES.attempts;
      expect(sandbox.stats.total - before).toBeLessThanOrEqual(most);
      const { rows: runs } = await database.query<{ runs: number; failed: number }>(
        `select count(*)::int as runs, count(*) filter (where state = 'failed' and failure = 'unavailable'
           and reason like '%failed ${FAILURES.attempts} times: %' and next like 'Check that the source is up%')::int as failed
         from sluice.runs where id > ${engine.resources.length}`,
      );
      expect(runs).toEqual([{ runs: TICKS * engine.resources.length, failed: TICKS * engine.resources.length }]);

      sandbox.forgetFaults();
      await tick();
      expect(await differences(database, sandbox)).toEqual([]);
      expect(alerts.map(text => text.split('\n')[0])).toEqual([
        'Sluice: source unavailable (main)',
        'Resolved: source unavailable (main)',
      ]);
      await engine.close();
      await sandbox.close();
    });
  });
});

/** Brackets a test with a receiver of alerts, and the texts it received. */
async function withReceiver(fn: (url: string, alerts: readonly string[]) => Promise<void>): Promise<void> {
  const alerts: string[] = [];
  const receiver = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    request.on('end', () => {
      alerts.push((JSON.parse(text) as { text: string }).text);
      response.writeHead(200, { connection: 'close' }).end();
    });
  });
  await new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve));
  try {
    await fn(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`, alerts);
  } finally {
    await new Promise(resolve => receiver.close(resolve));
  }
}
