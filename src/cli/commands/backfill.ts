import type { Command } from 'commander';
import { parseRange, type Range } from '../../service/orders/order-range.ts';
import { type OrderChange, placeOrder } from '../../service/orders/order-requests.ts';
import { wakeUp } from '../../service/schedule/wake-ups.ts';
import { changeBackfill } from '../backfill/change-backfill.ts';
import { dryRun } from '../backfill/dry-run.ts';
import { listBackfills } from '../backfill/list-backfills.ts';
import { applyMigrations } from '../run/pending-migrations.ts';
import { readSources } from '../run/read-sources.ts';
import { isServiceRunning } from '../run/running-service.ts';
import { showSummary } from '../run/summary.ts';
import { selectResources } from '../session/cli-options.ts';
import { NO_WAIT, newCommand } from '../session/new-command.ts';
import type { Cli, Outcome, Session } from '../session/session.ts';

const EXAMPLES = `sluice backfill invoices --from 2024-01-01 --to 2024-12-31
sluice backfill invoices --from 2024-01-01 --dry-run    estimate the cost
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
  const command = newCommand('backfill', 'Read one resource again, completely or between two dates', EXAMPLES)
    .argument('<resource>', 'the resource to read')
    .option('--from <date>', 'first day, YYYY-MM-DD in SOURCE_TIMEZONE')
    .option('--to <date>', 'last day, inclusive')
    .option('--dry-run', 'estimate slices, requests and hours; send no request and change nothing')
    .option('--detach', 'create the order and leave it to the service')
    .option('--no-wait', NO_WAIT)
    // Options after `list` then belong to `list`.
    .enablePositionalOptions()
    .action(async (resource: string, options: Options, self: Command) => {
      const source = !options.dryRun && !options.detach;
      await cli.action({ source }, (session, _self: Command) => backfill(session, resource, options))(self);
    });
  for (const sub of subcommands(cli)) command.addCommand(sub);
  return command;
}

function subcommands(cli: Cli): Command[] {
  const change = (name: OrderChange, description: string) =>
    newCommand(name, description, `sluice backfill ${name} 17`)
      .argument('[id]', 'the order, as "backfill list" shows it; optional if only one qualifies')
      .action(cli.action({ source: false }, (session, id: string | undefined) => changeBackfill(session, id, name)));
  return [
    newCommand('list', 'List backfill orders, newest first', 'sluice backfill list').action(
      cli.action({ source: false }, listBackfills),
    ),
    change('pause', 'Pause a backfill; rows already read are kept'),
    change('resume', 'Resume a paused backfill'),
    change('cancel', 'Cancel a backfill; rows already read are kept'),
  ];
}

async function backfill(session: Session, resource: string, options: Options): Promise<Outcome> {
  selectResources(session.jobs, [resource]);
  // Throws if there are several sources: a backfill is one order, so --source must name one.
  void session.settings.sourceName;
  const range = parseRange(session.jobs, resource, options);
  if (options.dryRun) return dryRun(session, resource, range);
  if (options.detach) return detach(session, resource, range);
  const request = { resource, kind: 'backfill' as const, dateFrom: range.from, dateTo: range.to };
  return showSummary(session, await readSources(session, [request], { noWait: !options.wait }));
}

async function detach(session: Session, resource: string, range: Range): Promise<0> {
  const { terminal } = session;
  const database = await session.openDatabase();
  await applyMigrations(session, database);
  const { sourceName } = session.settings;
  const order = await placeOrder(database, sourceName, {
    resource,
    kind: 'backfill',
    dateFrom: range.from,
    dateTo: range.to,
  });
  await wakeUp(database, sourceName);
  const service = await isServiceRunning(database, sourceName);
  const document = { order: Number(order.id), resource, ...range, state: order.state, service };
  const reader = service ? 'The running service will read it.' : 'No service is running; start one: sluice start.';
  terminal.show(document, () => `Order ${order.id} is created. ${reader} Progress: sluice backfill list`);
  return 0;
}
