import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { runBeside } from '../../../src/any-signal.ts';
import { type Clock, systemClock } from '../../../src/clock.ts';
import { SluiceError } from '../../../src/errors.ts';
import { createLog } from '../../../src/log.ts';
import type { Receiver } from '../../../src/receivers.ts';
import { deliverChanges } from '../../../src/service/notify/deliver-changes.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { until } from '../../cli/run-command.ts';
import { withDatabase } from '../../support/database.ts';
import { servedSource } from '../with-service.ts';
import { accept, logChanges, numbersIn, optionsOf, receiverAt, withReceiver } from './with-receiver.ts';

const hasty: Clock = { ...systemClock, sleep: (_ms, signal) => systemClock.sleep(5, signal) };

const loop = (database: Database, readReceivers: () => readonly Receiver[], log = optionsOf(database).log) =>
  runBeside(over =>
    deliverChanges(
      {
        ...optionsOf(database),
        clock: hasty,
        log,
        sources: [servedSource(database)],
        readReceivers,
        describeUnknown: ({ source }) => (source === 'main' ? null : `it names what there is not: ${source}`),
      },
      over,
    ),
  );

test('changes are delivered as they come, to receivers that come and go, and one that hangs holds up no other', async () => {
  await withDatabase(async database => {
    await logChanges(database, 1, 5);
    await withReceiver(
      () => undefined,
      async hanging => {
        await withReceiver(accept, async ({ url, got }) => {
          let receivers = [receiverAt(hanging.url, { name: 'hanging' })];
          const stop = loop(database, () => receivers);
          await until(async () => (await database.query('select from sluice.deliveries')).rows.length === 1);
          await logChanges(database, 6, 7);
          await until(() => hanging.got.length === 1);
          receivers = [...receivers, receiverAt(url), receiverAt(url, { name: 'elsewhere', source: 'vienna' })];
          await until(async () => (await database.query('select from sluice.deliveries')).rows.length === 2);
          await logChanges(database, 8, 9);
          await until(() => got.flatMap(numbersIn).length === 2);
          expect(got.flatMap(numbersIn)).toEqual([8, 9]);
          receivers = receivers.slice(0, 1);
          await new Promise(resolve => setTimeout(resolve, 50));
          await logChanges(database, 10, 12);
          await new Promise(resolve => setTimeout(resolve, 50));
          // The stop does not wait for what hangs, and leaves its turn to the next process.
          const begun = performance.now();
          await stop();
          expect(performance.now() - begun).toBeLessThan(5000);
          expect(got.flatMap(numbersIn)).toEqual([8, 9]);
          const { rows } = await database.query(
            'select name, attempts from sluice.deliveries where locked_until is not null',
          );
          expect(rows).toEqual([]);
        });
      },
    );
  });
});

test('while the file of the receivers is wrong, they stay as they were, and the log says so once', async () => {
  await withDatabase(async database => {
    await withReceiver(accept, async ({ url, got }) => {
      const lines: string[] = [];
      const destination = new PassThrough().on('data', chunk => lines.push(String(chunk)));
      let reads = 0;
      const stop = loop(
        database,
        () => {
          if (reads++ === 0) return [receiverAt(url)];
          throw new SluiceError('configuration', 'receivers.json is not used: it is wrong.');
        },
        createLog({ level: 'info', destination }),
      );
      await until(async () => reads > 3 && (await database.query('select from sluice.deliveries')).rows.length === 1);
      await logChanges(database, 1, 3);
      await until(() => got.flatMap(numbersIn).length === 3);
      await stop();
      expect(lines.filter(line => line.includes('receivers.json is not used'))).toHaveLength(1);
    });
  });
});

test('what a receiver names and there is not is said once, and again once it was right', async () => {
  await withDatabase(async database => {
    const lines: string[] = [];
    const destination = new PassThrough().on('data', chunk => lines.push(String(chunk)));
    const sources = ['mian', 'mian', 'mian', 'main', 'mian', 'mian'];
    const stop = loop(
      database,
      () => {
        const [source = ''] = sources.length > 1 ? sources.splice(0, 1) : sources;
        return [receiverAt('http://127.0.0.1:9', { source })];
      },
      createLog({ level: 'info', destination }),
    );
    await until(() => sources.length === 1);
    await stop();
    expect(lines.filter(line => line.includes('it names what there is not: mian'))).toHaveLength(2);
  });
});
