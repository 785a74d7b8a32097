import type { Command } from 'commander';
import { wakeUp } from '../../service/schedule/wake-up-queue.ts';
import { type Cli, newCommand, type Outcome, type Session } from '../cli.ts';
import { chosenRange, chosenResources, type Range } from '../cli-options.ts';
import { backfillOrders } from '../orders/backfill-orders.ts';
import { dryRun } from '../orders/dry-run.ts';
import { showServed } from '../output/summary.ts';
import { bringUpToDate } from '../run/pending-migrations.ts';
import { read } from '../run/read-command.ts';
import { isServed } from '../run/running-service.ts';
import { placeOrder } from '../run/serve-orders.ts';

const EXAMPLE = `sluice backfill invoices --from 2024-01-01 --to 2024-12-31
sluice backfill invoices --from 2024-01-01 --dry-run    what it would cost
sluice backfill transactions --detach                   leave it to the service
sluice backfill list
sluice backfill pause 17                                also: resume, cancel`;

interface Options {
  readonly from?: string;
  readonly to?: string;
  readonly dryRun?: boolean;
  readonly detach?: boolean;
  readonly wait: boolean;
}

export function backfillCommand(cli: Cli): Command {
  const command = newCommand('backfill', 'Read one resource again, whole or between two dates', EXAMPLE)
    .argument('<resource>', 'the resource to read')
    .option('--from <date>', 'first day, YYYY-MM-DD in SOURCE_TIMEZONE')
    .option('--to <date>', 'last day, included')
    .option('--dry-run', 'print slices, requests and hours; ask nothing, change nothing')
    .option('--detach', 'write the order and leave it to the service')
    .option('--no-wait', 'stop with exit code 75 instead of waiting for the request limit')
    // So that what follows `list` belongs to it.
    .enablePositionalOptions()
    .action(async (resource: string, options: Options, self: Command) => {
      const source = !options.dryRun && !options.detach;
      await cli.action({ source }, (session, _self: Command) => backfill(session, resource, options))(self);
    });
  for (const sub of backfillOrders(cli)) command.addCommand(sub);
  return command;
}

async function backfill(session: Session, resource: string, options: Options): Promise<Outcome> {
  chosenResources(session.jobs, [resource]);
  // One source, or a word about which: a backfill of several would be several orders.
  void session.settings.sourceName;
  const range = chosenRange(session.jobs, resource, options);
  if (options.dryRun) return dryRun(session, resource, range);
  if (options.detach) return detach(session, resource, range);
  const wish = { resource, kind: 'backfill' as const, dateFrom: range.from, dateTo: range.to };
  return showServed(session, await read(session, [wish], { noWait: !options.wait }));
}

async function detach(session: Session, resource: string, range: Range): Promise<0> {
  const { terminal } = session;
  const database = await session.openDatabase();
  await bringUpToDate(session, database);
  const { sourceName } = session.settings;
  const order = await placeOrder(database, sourceName, {
    resource,
    kind: 'backfill',
    dateFrom: range.from,
    dateTo: range.to,
  });
  await wakeUp(database, sourceName);
  const service = await isServed(database, sourceName);
  const document = { order: Number(order.id), resource, ...range, state: order.state, service };
  terminal.show(document, () => `Order ${order.id} is written. ${whoServes(service)} See: sluice backfill list`);
  return 0;
}

const whoServes = (service: boolean): string =>
  service ? 'The running service reads it.' : 'No service is running; sluice start will read it.';
