import type { Command } from 'commander';
import { partition } from '../../engine/coverage/list.ts';
import { openResource } from '../../engine/resource.ts';
import { parseSlice, sliceText } from '../../engine/slices/slice.ts';
import { SluiceError } from '../../errors.ts';
import { count, durationText, plural } from '../../service/format.ts';
import {
  doubtsAfter,
  MOST_REQUESTS,
  type Named,
  namedText,
  refreshCost,
  refuseIfTooMuch,
  targetsFor,
} from '../../service/orders/refresh.ts';
import { type RecordStory, readStory, recordVerdict } from '../../service/record/record-story.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { momentWithZone } from '../output/moments.ts';
import { type ReadResult, readSources } from '../run/complete-orders.ts';
import { openMigrated } from '../run/pending-migrations.ts';
import { exitCodeOf, failuresOf, summarise } from '../run/summary.ts';
import {
  type Cli,
  type CostOptions,
  type ExitCode,
  listOf,
  newCommand,
  type Session,
  withCostOptions,
} from '../session/session.ts';

const EXAMPLES = `sluice refresh invoices 4711                      one record, now
sluice refresh invoices --from 2025-03-01 --to 2025-03-31
sluice refresh invoices --where customer_id=17     all invoices of a customer
sluice refresh invoices 4711 --dry-run             what it would cost`;

interface Options extends CostOptions, Pick<Named, 'from' | 'to' | 'where'> {}

export function command(cli: Cli): Command {
  const command = newCommand('refresh', EXAMPLES)
    .argument('<resource>', 'the list that they belong to')
    .argument('[key...]', 'their ids, or what the table shows as _key')
    .option('--from <date>', 'first day, YYYY-MM-DD in SOURCE_TIMEZONE')
    .option('--to <date>', 'last day, inclusive')
    .option('--where <field=value>', 'all records with this value, where the source can be asked for it');
  return withCostOptions(command, `read nothing if it would take more requests (default: ${MOST_REQUESTS})`).action(
    cli.action({ source: true }, refresh),
  );
}

async function refresh(session: Session, name: string, keys: string[], options: Options): Promise<ExitCode> {
  const { terminal, settings, jobs } = session;
  const list = listOf(session, name);
  const { timeZone } = settings.single;
  const database = await openMigrated(session);
  const resource = await openResource(database.kysely, list);
  const targets = targetsFor(jobs, resource, { keys, ...options });
  if (partition(resource).every(({ provenAt }) => provenAt === null))
    throw new SluiceError('usage', `${name} was never read.`, { next: `Read it first: sluice sync ${name}` });
  const begun = await databaseNow(database);
  const { requests, provenAt } = await refreshCost({ database, timeZone }, resource, targets, begun);
  const what = `${name}, ${targets.map(namedText).join(', ')}`;
  const cost = `${what}: about ${plural(requests, 'request')}${provenAt === null ? '' : `; last compared ${durationText((begun - provenAt) / 1000)} ago`}.`;
  if (options.dryRun) {
    terminal.show({ dryRun: true, resource: name, requests, provenAt }, () => `${cost} No request was sent.`);
    return 0;
  }
  refuseIfTooMuch(name, requests, options.maxRequests ?? MOST_REQUESTS);
  terminal.note(cost);
  const order = { resource: name, kind: 'refresh', targets: targets.map(sliceText) } as const;
  const read = await readSources(session, [order], { wait: options.wait });
  return showRefresh(session, database, list, read);
}

/** Whether what was named is equal now, record by record, and what that took. */
async function showRefresh(
  { terminal, settings }: Session,
  database: Database,
  list: Parameters<typeof doubtsAfter>[1],
  read: ReadResult,
): Promise<ExitCode> {
  const { timeZone } = settings.single;
  const [result] = read.results;
  if (!result) throw new Error('The refresh has no order.');
  const { order } = result;
  const summary = summarise(result);
  const error = failuresOf([summary], read.failed);
  const { unsettled, quarantined } = await doubtsAfter(database, list, order);
  const at = await databaseNow(database);
  const keys = order.targets.map(parseSlice).flatMap(target => (target.by === 'one' ? target.key : []));
  const stories: RecordStory[] = [];
  for (const key of keys) stories.push(await readStory(database, list, key));
  const records = stories.map(story => ({ key: story.key, state: story.state, ...recordVerdict(story, at) }));
  const areFound = records.every(({ state }) => state === 'stored' || state === 'deleted');
  const equal = error === null && unsettled === 0 && quarantined === 0 && areFound;
  const { order: id, new: inserted, changed, deleted, seconds } = summary;
  const spent = { requests: summary.requests, new: inserted, changed, deleted, seconds };
  terminal.show(
    {
      resource: list.name,
      order: id,
      equal,
      asOf: order.createdAt,
      ...spent,
      unsettled,
      quarantined,
      records,
      ...(error ? { error } : {}),
    },
    () => {
      // A record that is stored and was not lacked equals what the source showed just now.
      const lines = records.map(({ key, state, text, rest }) =>
        state === 'stored' && error === null && unsettled === 0
          ? `${list.name} ${key} equals the source`
          : state === 'deleted'
            ? text
            : `${text}. ${rest}`,
      );
      return [
        ...lines,
        `As of ${momentWithZone(order.createdAt, timeZone)}: ${count(inserted)} new, ${count(changed)} changed, ${count(deleted)} deleted; ${plural(summary.requests, 'request')}.`,
      ].join('\n');
    },
  );
  if (error && !terminal.json) terminal.note(terminal.noteColors.red(error.message));
  if (unsettled > 0 && !error)
    terminal.note(
      `${plural(unsettled, 'row')} may be gone, which is not proven yet. To see why: sluice why ${list.name} <key>. The next sync settles it.`,
    );
  if (quarantined > 0 && !error)
    terminal.note(`${plural(quarantined, 'record')} could not be read. To see why: sluice quarantine`);
  return equal ? 0 : error ? exitCodeOf(error, read) : 1;
}
