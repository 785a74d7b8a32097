import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { createRandom, mix, type Random } from '../../sandbox/data/random.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { SECOND } from '../../src/clock.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import { run, until } from '../cli/run-command.ts';
import { differences } from '../support/compare.ts';
import { type Logged, replayLog, storedRows } from '../support/replay-log.ts';
import { MAIN, scheduled } from '../support/resources.ts';
import { followLog, readLog } from './follow-log.ts';
import { killPostgres, NOTHING_UNENDED, unended, withKillable } from './killable.ts';
import { createService, type KillableService } from './killable-service.ts';
import { createOutages, describeDelays, type Outages } from './outages.ts';
import { withWarehouse } from './own-server.ts';
import { type Accepted, checkAccepted, createReceiver, type KillableReceiver } from './receivers.ts';

/** Then another source and an empty warehouse: a list may lose only so many of its rows in a day. */
const KILLS_PER_WAREHOUSE = 50;
const CHANGES_PER_KILL = 10;
/** How long a kill waits for its moment, which does not come while a receiver or the service is away. */
const LONGEST_AIM_MS = 3 * SECOND;

const WANTED = [
  { name: 'all', args: [], wants: () => true },
  {
    name: 'some',
    args: ['--on', '*.inserted', '*.updated', '--where', "resource <> 'customers'"],
    wants: ({ resource, kind }: Logged) => resource !== 'customers' && (kind === 'inserted' || kind === 'updated'),
  },
] as const;

type Victim = 'service' | 'receiver' | 'postgres';
/** Drawn from. Postgres takes seconds to recover. */
const VICTIMS: readonly Victim[] = (
  [
    ['service', 5],
    ['receiver', 4],
    ['postgres', 1],
  ] as const
).flatMap(([victim, count]) => Array<Victim>(count).fill(victim));

/** What was measured, over all warehouses. Delays are from the commit of a change to its first acceptance, in ms. */
interface Measured {
  readonly killed: Record<Victim, number>;
  changes: number;
  messages: number;
  repeated: number;
  readonly calm: number[];
  readonly troubled: number[];
}

/**
 * Kills the service, the programs that changes are delivered to, and the Postgres server, while the source changes. Fails if a change is lost,
 * comes in another order or differently, or if the log does not lead from the first rows to the last.
 */
export async function killDeliveries(options: {
  kills: number;
  seed: number;
  say: (line: string) => void;
}): Promise<void> {
  const { kills, seed, say } = options;
  const measured: Measured = {
    killed: { service: 0, receiver: 0, postgres: 0 },
    changes: 0,
    messages: 0,
    repeated: 0,
    calm: [],
    troubled: [],
  };
  for (let done = 0; done < kills; done += KILLS_PER_WAREHOUSE) {
    const here = Math.min(KILLS_PER_WAREHOUSE, kills - done);
    await killInOneWarehouse(here, mix(seed, done), measured);
    const { killed, changes, messages, repeated } = measured;
    say(
      `${done + here} of ${kills}: ${killed.service} times the service, ${killed.receiver} times a receiver, ` +
        `${killed.postgres} times Postgres; ${changes} changes, ${messages} messages, of which ${repeated} came again`,
    );
  }
  say(`Delay while all of them lived: ${describeDelays(measured.calm)}`);
  say(`Delay with one of them dead, or a back-off: ${describeDelays(measured.troubled)}`);
}

async function killInOneWarehouse(kills: number, seed: number, measured: Measured): Promise<void> {
  const random = createRandom(seed);
  const size = { customers: 300, invoices: 1000, transactions: 1500 };
  await withKillable({ size, seed, latencyMs: 5 }, async ({ sandbox, dataDir, env }) => {
    const cwd = join(dataDir, 'project');
    await mkdir(cwd);
    const sluice = async (...args: string[]) => {
      const ended = await run([...args, '--json'], { env, cwd });
      expect([args, ended.code, ended.stderr]).toEqual([args, 0, expect.any(String)]);
      return ended.json();
    };
    // From here on, all changes are logged.
    await sluice('sync', ...MAIN);
    await withWarehouse(dataDir, async database => {
      const atFirst = await storedRows(database);
      const follower = followLog(database.query);
      const outages = createOutages();
      const receivers: KillableReceiver[] = [];
      for (const { name, args } of WANTED) {
        const receiver = await createReceiver({ name, folder: cwd, random, outages });
        const { secret } = await sluice('notify', 'add', receiver.url, '--name', name, '--allow-private', ...args);
        receiver.start(secret);
        receivers.push(receiver);
      }
      const service = createService({ ...env, ...scheduled('* * * * *') }, cwd, outages);
      await killAll(kills, measured.killed, { random, sandbox, dataDir, database, outages, service, receivers });

      for (let round = 0; round < 3; round++) await sluice('sync', ...MAIN);
      expect(await differences(database, sandbox)).toEqual([]);
      expect(await unended(database)).toEqual(NOTHING_UNENDED);
      service.start();
      await until(async () => {
        await skipWaits(database);
        return isAllDelivered(database);
      });
      await service.stop();
      for (const receiver of receivers) await receiver.stop();

      const { seen, problems } = await follower.stop();
      expect(problems).toEqual([]);
      expect(seen).toEqual(await readLog(database.query));
      const log = await readChanges(database);
      expect(log.map(({ number }) => number)).toEqual(seen.map((_, index) => index + 1));
      expect(replayLog(atFirst, log)).toEqual(await storedRows(database));
      measured.changes += log.length;
      for (const [at, { name, wants }] of WANTED.entries())
        measureDeliveries(measured, {
          name,
          outages,
          accepted: receivers[at]?.accepted() ?? [],
          wanted: log.filter(wants),
        });
    });
  });
}

interface Scene {
  readonly random: Random;
  readonly sandbox: Sandbox;
  readonly dataDir: string;
  readonly database: Database;
  readonly outages: Outages;
  readonly service: KillableService;
  readonly receivers: readonly KillableReceiver[];
}

async function killAll(kills: number, killed: Measured['killed'], scene: Scene): Promise<void> {
  const { random, sandbox, dataDir, database, outages, service } = scene;
  service.start();
  let most = 0;
  const changing = setInterval(() => sandbox.changes.length < most && sandbox.changeRandom(1), 100);
  try {
    for (let kill = 0; kill < kills; kill++) {
      most += CHANGES_PER_KILL;
      const receiver = await aim(scene);
      const victim = random.pick(VICTIMS);
      killed[victim]++;
      if (victim === 'receiver') await receiver.killAndStart();
      if (victim === 'postgres') {
        service.databaseKilled();
        const from = Date.now();
        await killPostgres(dataDir);
        // This starts it again. The service has lost the turns that it had, and connects again within a second or two.
        await skipWaits(database, 'and turns');
        outages.add(null, from, Date.now() + 2 * SECOND);
      }
      if (victim === 'service' || service.hasEnded()) {
        await service.kill();
        await skipWaits(database, 'and turns');
        service.start();
      }
    }
  } finally {
    clearInterval(changing);
  }
  await service.kill();
  await skipWaits(database, 'and turns');
}

/**
 * Waits for a moment at which something may be lost: a process starts, an answer of the source is on its way, or a message. Returns the receiver
 * of the message, or any.
 */
async function aim({ random, sandbox, database, outages, service, receivers }: Scene): Promise<KillableReceiver> {
  const moment = random.pick(['start', 'request', 'message', 'message']);
  const [startMs, requests, lateMs] = [random.int(0, 900), random.int(1, 14), random.pick([0, random.int(0, 30)])];
  let receiver = random.pick(receivers);
  if (moment === 'start') {
    await delay(startMs);
    return receiver;
  }
  await until(() => outages.areOver() || service.hasEnded());
  await skipWaits(database);
  const late = AbortSignal.timeout(LONGEST_AIM_MS);
  if (moment === 'message') receiver = await Promise.race(receivers.map(each => each.message(late)));
  else {
    const at = sandbox.stats.total + requests;
    await until(() => late.aborted || sandbox.stats.total >= at);
  }
  await delay(lateMs);
  return receiver;
}

/** Ends back-offs and, where their process has lost them, turns: as time would, but kills would only hit a service that waits. */
async function skipWaits(database: Database, ...more: 'and turns'[]): Promise<void> {
  await database.query(`update sluice.deliveries set retry_at = null${more.length > 0 ? ', locked_until = null' : ''}`);
}

async function isAllDelivered(database: Database): Promise<boolean> {
  const { rows } = await database.query<{ done: boolean }>(
    'select bool_and(d.next = n.last + 1) as done from sluice.deliveries d, sluice.change_numbers n',
  );
  return rows[0]?.done === true;
}

/** The log with what changed, as it is delivered. */
async function readChanges(database: Database): Promise<Logged[]> {
  const { rows } = await database.query<{ change: string }>(
    'select row_to_json(c)::text as change from warehouse.changes c order by number',
  );
  return rows.map(({ change }) => JSON.parse(change) as Logged);
}

function measureDeliveries(
  measured: Measured,
  given: { name: string; outages: Outages; accepted: readonly Accepted[]; wanted: readonly Logged[] },
): void {
  const { name, outages, accepted, wanted } = given;
  const { moments, messages } = checkAccepted(accepted, wanted);
  measured.messages += messages;
  measured.repeated += accepted.length - messages;
  for (const { number, seen_at: seenAt } of wanted) {
    const [from, until] = [Date.parse(seenAt), moments.get(number) as number];
    (outages.touch(name, from, until) ? measured.troubled : measured.calm).push(until - from);
  }
}
