import { randomBytes } from 'node:crypto';
import { type Command, Option } from 'commander';
import { writeReceivers } from '../../config/receivers-file.ts';
import { SluiceError } from '../../errors.ts';
import { isSecureUrl } from '../../loopback.ts';
import { didYouMean } from '../../nearest-name.ts';
import { removeReceiver as removeCommand, resumeReceiver } from '../../next-steps.ts';
import { FORMS, isReceiverName, parsePattern, RECEIVERS_FILE, type Receiver } from '../../receivers.ts';
import { composeTest } from '../../service/notify/compose-message.ts';
import { send } from '../../service/notify/deliver-next.ts';
import { checkWanted } from '../../service/notify/find-changes.ts';
import {
  beginDelivery,
  type Delivery,
  listDeliveries,
  removeDelivery,
  resumeDelivery,
} from '../../warehouse/ledgers/deliveries.ts';
import { readNumbers } from '../../warehouse/reports/changes.ts';
import { momentWithZone } from '../output/moments.ts';
import { table } from '../output/table.ts';
import { hasBookkeeping, openMigrated } from '../run/pending-migrations.ts';
import { parseChangeNumber, refuseFrom } from '../session/change-numbers.ts';
import {
  CORRECT_RECEIVERS,
  changeReceivers,
  describeUnknown,
  hiddenReceivers,
  secretsOf,
} from '../session/receivers.ts';
import { type Cli, type ExitCode, newCommand, type Session, selectResources } from '../session/session.ts';
import { isServiceRunning } from '../session/source-settings.ts';

const EXAMPLES = `sluice notify add https://crm.example.com/sluice --on invoices.updated --where "after->>'status' = 'Paid'"
sluice notify list
sluice notify resume crm-example-com --from 4711`;
const ADD_EXAMPLES = `sluice notify add https://crm.example.com/sluice --name crm
sluice notify add https://crm.example.com/sluice --on invoices.updated --where "after->>'status' = 'Paid'"
sluice notify add https://hooks.slack.com/services/.. --form slack --on customers.inserted --on invoices.deleted`;

export function command(cli: Cli): Command {
  const add = newCommand('add', ADD_EXAMPLES)
    .description('Deliver changes to an address from now on; prints the secret that signs them, once')
    .argument('<url>', 'https:// address of the receiver')
    .option('--name <name>', 'name for the other commands (default: after its host)')
    .option(
      '--on <list.kind...>',
      'changes of these lists and kinds, such as invoices.updated or *.deleted (default: all)',
    )
    .option('--where <condition>', 'those for which this SQL over the columns of the view "changes" holds')
    .addOption(new Option('--form <form>', 'events, or messages for a chat').choices(FORMS).default('standard'))
    .option('--from <number>', 'from this change on (default: those that come)', parseChangeNumber)
    .option('--allow-private', 'the address may lie in a private network')
    .action(cli.action({ source: false }, addReceiver));
  const list = newCommand('list', 'sluice notify list\nsluice notify list --json')
    .description('List the receivers, and how far each is')
    .action(cli.action({ source: false }, listReceivers));
  const remove = newCommand('remove', 'sluice notify remove crm')
    .description('Deliver nothing more to a receiver')
    .argument('<name>', 'the receiver')
    .action(cli.action({ source: false }, removeReceiver));
  const test = newCommand('test', 'sluice notify test crm')
    .description('Send an event of the type "test"; exit with 1 if it is not accepted')
    .argument('<name>', 'the receiver')
    .action(cli.action({ source: false }, testReceiver));
  const resume = newCommand('resume', 'sluice notify resume crm\nsluice notify resume crm --from 4711')
    .description('Deliver again to a receiver that is paused or fails, or from another change on')
    .argument('<name>', 'the receiver')
    .option(
      '--from <number>',
      'from this change on, again if it was delivered (default: where it was)',
      parseChangeNumber,
    )
    .action(cli.action({ source: false }, resumeDeliveries));
  return [add, list, remove, test, resume].reduce((all, each) => all.addCommand(each), newCommand('notify', EXAMPLES));
}

interface AddOptions {
  readonly name?: string;
  readonly on?: readonly string[];
  readonly where?: string;
  readonly form: Receiver['form'];
  readonly from?: number;
  readonly allowPrivate?: boolean;
}

async function addReceiver(session: Session, url: string, options: AddOptions): Promise<0> {
  const { terminal, settings, jobs, shell, signal } = session;
  const { where, form, from, allowPrivate = false, on = ['*.*'] } = options;
  const { name: source, schema } = settings.single;
  checkUrl(url, allowPrivate);
  checkPatterns(jobs, on);
  // Chats have no place for a signature: their address is the secret.
  const secret = form === 'standard' ? `whsec_${randomBytes(32).toString('base64')}` : undefined;
  const beside = (known: readonly Receiver[]): Receiver => {
    const name = checkName(options.name ?? freeName(url, known), known);
    return { name, source, url, secret, on, where, form, allowPrivate };
  };
  const planned = beside(hiddenReceivers(session));
  terminal.hide(secretsOf(planned));
  const database = await openMigrated(session);
  if (where !== undefined) {
    const reader = await session.openReader();
    if (reader.readerUrl === null)
      throw new SluiceError('usage', '--where needs a login that may only read, because it is SQL.', {
        next: 'Create one: sluice grant',
      });
    await checkWanted(reader, planned, schema, signal);
  }
  if (from !== undefined) refuseFrom(await readNumbers(database, schema), from, 'sluice notify add <url>');
  const { name } = await changeReceivers(session, database, async (tx, known) => {
    const receiver = beside(known);
    await removeDelivery(tx, receiver);
    await beginDelivery(tx, receiver, { schema, next: from });
    writeReceivers(shell.cwd, [...known, receiver]);
    return receiver;
  });
  const running = await isServiceRunning(database, source);
  terminal.show(
    { name, source, host: new URL(url).host, on, where: where ?? null, form, secret: secret ?? null, running },
    () =>
      [
        `Changes are delivered to ${name}, ${from === undefined ? 'from the next one on' : `from number ${from} on`}.`,
        ...(secret === undefined ? [] : ['Its secret, which is not shown again:', `  ${secret}`]),
        `To try it: sluice notify test ${name}`,
        ...(running ? [] : ['The service delivers, and is not running. To start it: sluice start']),
      ].join('\n'),
  );
  return 0;
}

function checkUrl(url: string, allowPrivate: boolean): void {
  if (isSecureUrl(url, allowPrivate)) return;
  throw new SluiceError('usage', 'The address of a receiver is not valid (value hidden).', {
    next: 'Expected: https://crm.example.com/sluice, without user and password (http:// only of this machine, with --allow-private).',
  });
}

function checkPatterns(jobs: Session['jobs'], on: readonly string[]): void {
  for (const text of on) {
    const pattern = parsePattern(text);
    if (pattern === null)
      throw new SluiceError('usage', `--on ${text} is not valid.`, {
        next: 'Expected: <list>.<kind>, such as invoices.updated or *.deleted. Kinds: inserted, updated, deleted, revived. Either part may be *.',
      });
    if (pattern.resource !== '*') selectResources(jobs, [pattern.resource]);
  }
}

function checkName(name: string, known: readonly Receiver[]): string {
  if (!isReceiverName(name))
    throw new SluiceError('usage', `--name ${name} is not valid.`, {
      next: 'Expected: a lower-case letter, then at most 39 letters, digits, _ and -, such as crm.',
    });
  if (known.some(each => each.name === name))
    throw new SluiceError('usage', `There is a receiver ${name} already.`, {
      next: `Give another with --name, or remove it first: sluice notify remove ${name}`,
    });
  return name;
}

/** `crm-example-com`, with a number where it is taken. */
function freeName(url: string, known: readonly Receiver[]): string {
  const host = new URL(url).hostname.replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-|-$/g, '');
  const name = (/^[a-z]/.test(host) ? host : `at-${host}`).slice(0, 36);
  const isTaken = (text: string) => known.some(each => each.name === text);
  for (let count = 1; ; count++) {
    const free = count === 1 ? name : `${name}-${count}`;
    if (!isTaken(free)) return free;
  }
}

async function listReceivers(session: Session): Promise<0> {
  const { terminal, settings } = session;
  const database = await session.openDatabase();
  const known = await hasBookkeeping(session, database);
  const deliveries = known ? await listDeliveries(database.kysely, settings.sources) : [];
  const declared = hiddenReceivers(session);
  const listed = declared
    .filter(
      ({ source }) => settings.sources.some(({ name }) => name === source) || !settings.sourceNames.includes(source),
    )
    .map(({ name, source, url, on, where = null, form, allowPrivate }) => {
      const unknown = describeUnknown(session, { source, on });
      const found = deliveries.find(each => each.name === name && each.source === source);
      const host = new URL(url).host;
      return { name, source, host, on, where, form, allowPrivate, state: stateOf(found), unknown, ...found };
    });
  // Taken out of the file by hand, it stays in the metrics, and an incident if it is paused.
  const gone = deliveries
    .filter(({ name, source }) => !declared.some(each => each.name === name && each.source === source))
    .map(found => ({
      ...{ host: null, on: [], where: null, form: null, allowPrivate: false, state: 'gone' as const },
      ...{ unknown: `not in ${RECEIVERS_FILE} any more`, ...found },
    }));
  const receivers = [...listed, ...gone];
  terminal.show({ receivers }, () => {
    if (receivers.length === 0) return 'There are no receivers. To add one: sluice notify add https://..';
    const rows = receivers.map(({ name, host, on, behind = '', state, unknown, reason, retryAt }) => {
      const again = retryAt ? [`again at ${momentWithZone(retryAt, 'UTC')}`] : [];
      return [
        name,
        host ?? '',
        on.join(', '),
        behind,
        [
          ...(state === 'gone' ? [] : [state]),
          ...(unknown ? [unknown] : []),
          ...(reason ? [reason] : []),
          ...again,
        ].join('; '),
      ];
    });
    const paused = receivers.find(({ state }) => state === 'paused');
    return [
      table(terminal.colors, ['receiver', 'host', 'changes', 'behind', 'state'], rows, { right: [3] }),
      ...(paused ? ['', `To go on: ${resumeReceiver(paused.name)}`] : []),
      // The name may be that of another source's now.
      ...gone
        .filter(({ name }) => !declared.some(each => each.name === name))
        .map(({ name }) => `To forget ${name}: ${removeCommand(name)}`),
    ].join('\n');
  });
  return 0;
}

function stateOf(delivery: Delivery | undefined): 'new' | 'paused' | 'failing' | 'delivering' {
  if (delivery === undefined) return 'new';
  if (delivery.pausedAt !== null) return 'paused';
  return delivery.attempts > 0 ? 'failing' : 'delivering';
}

async function removeReceiver(session: Session, name: string): Promise<0> {
  const { terminal, settings, shell } = session;
  // A wrong file is refused before the database is opened.
  hiddenReceivers(session);
  await changeReceivers(session, await openMigrated(session), async (tx, known) => {
    const receiver = known.find(each => each.name === name);
    let isKnown = receiver !== undefined;
    // One that was taken out of the file by hand may be paused, which is an incident.
    for (const source of receiver ? [receiver.source] : settings.sources.map(each => each.name))
      isKnown = (await removeDelivery(tx, { source, name })) || isKnown;
    if (!isKnown) findReceiver(known, name);
    if (receiver)
      writeReceivers(
        shell.cwd,
        known.filter(each => each !== receiver),
      );
  });
  terminal.show({ removed: name }, () => `Nothing more is delivered to ${name}.`);
  return 0;
}

async function testReceiver(session: Session, name: string): Promise<ExitCode> {
  const { terminal, clock, signal } = session;
  const receiver = findReceiver(hiddenReceivers(session), name);
  const unknown = describeUnknown(session, receiver);
  if (unknown !== null)
    throw new SluiceError('configuration', `The receiver ${name} is not tried: ${unknown}.`, {
      next: CORRECT_RECEIVERS,
    });
  const id = `${receiver.source}.${name}.test-${randomBytes(6).toString('hex')}`;
  const body = composeTest(receiver.form, receiver.source);
  const outcome = await send({ clock }, receiver, { id, body, signal });
  const reason = outcome.isDelivered ? null : terminal.hidden(outcome.reason);
  terminal.show({ name, delivered: outcome.isDelivered, reason }, () =>
    reason === null ? `${name} has accepted a test.` : `${name} has not accepted a test: ${reason}.`,
  );
  return reason === null ? 0 : 1;
}

async function resumeDeliveries(session: Session, name: string, { from }: { readonly from?: number }): Promise<0> {
  const { terminal, settings } = session;
  const receiver = findReceiver(hiddenReceivers(session), name);
  const source = settings.sources.find(each => each.name === receiver.source);
  if (source === undefined)
    throw new SluiceError(
      'usage',
      `The receiver ${name} is of the source ${receiver.source}, which is not among these.`,
      { next: `Sources: ${settings.sources.map(each => each.name).join(', ')}.` },
    );
  const { schema } = source;
  const database = await openMigrated(session);
  await beginDelivery(database.kysely, receiver, { schema });
  const delivery = (await listDeliveries(database.kysely, [source])).find(each => each.name === name);
  const next = from ?? delivery?.next ?? 1;
  refuseFrom(await readNumbers(database, schema), next, resumeReceiver(name));
  await resumeDelivery(database.kysely, receiver, from);
  terminal.show({ name, next }, () => `Changes are delivered to ${name} from number ${next} on.`);
  return 0;
}

function findReceiver(known: readonly Receiver[], name: string): Receiver {
  const receiver = known.find(each => each.name === name);
  if (receiver) return receiver;
  const names = known.map(each => each.name);
  throw new SluiceError('usage', `Unknown receiver "${name}"${didYouMean(name, names)}.`, {
    next: names.length === 0 ? `${RECEIVERS_FILE} has none.` : `Receivers: ${names.join(', ')}.`,
  });
}
