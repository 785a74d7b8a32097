import type { Command } from 'commander';
import { SluiceError } from '../../errors.ts';
import { isSecureUrl } from '../../loopback.ts';
import {
  isRegistered,
  listWebhooks,
  noteWebhook,
  PREVIOUS_DAYS,
  receiverSecret,
  renewSecret,
  type Webhook,
} from '../../warehouse/ledgers/webhook-addresses.ts';
import { momentWithZone } from '../output/moments.ts';
import { table } from '../output/table.ts';
import { hasBookkeeping, openMigrated } from '../run/pending-migrations.ts';
import { withClient } from '../run/source-client.ts';
import { type Cli, NO_WAIT, newCommand, type OpenSource, type Session } from '../session/session.ts';
import { isServiceRunning } from '../session/source-settings.ts';

const PATH = '/api/v2/webhooks';
const CANNOT_UNREGISTER =
  'The API has no documented way to list or remove a registration. To end it, use the administration of the source. Messages that arrive after that do no harm.';

const EXAMPLES = `sluice webhooks register --url https://sluice.example.com
sluice webhooks list`;
const REGISTER_EXAMPLES = `sluice webhooks register --url https://sluice.example.com --dry-run
sluice webhooks register --url https://sluice.example.com`;

export function command(cli: Cli): Command {
  const register = newCommand('register', REGISTER_EXAMPLES)
    .description('Register the address of this service at the source; costs one request')
    .requiredOption(
      '--url <address>',
      'the address under which the source reaches this service (SLUICE_HOST and SLUICE_PORT, or a proxy in front of them)',
    )
    .option('--dry-run', 'show what would be registered; send and store nothing')
    .option('--again', 'register even if this address is registered already')
    .option('--new-secret', `put a new secret into the address; the previous one is accepted for ${PREVIOUS_DAYS} days`)
    .option('--no-wait', NO_WAIT)
    .action(cli.action({ source: true }, registerAddress));
  const list = newCommand('list', 'sluice webhooks list')
    .description('List the addresses registered from here')
    .action(cli.action({ source: false }, listAddresses));
  return newCommand('webhooks', EXAMPLES).addCommand(register).addCommand(list);
}

interface Options {
  readonly url: string;
  readonly dryRun?: boolean;
  readonly again?: boolean;
  readonly newSecret?: boolean;
  readonly wait: boolean;
}

async function registerAddress(session: Session, options: Options): Promise<0> {
  const { terminal, settings, jobs, signal } = session;
  const base = parseAddress(options.url);
  const events = [...new Set([...jobs.values()].flatMap(job => Object.keys(job.events)))].sort();
  const { single } = settings;
  const { name } = single;
  if (options.dryRun) {
    const url = addressOf(base, '<secret>');
    terminal.show({ dryRun: true, source: name, url, events }, () =>
      [`Would send POST ${PATH} to the source, with:`, ...addressLines(url, events), '', CANNOT_UNREGISTER].join('\n'),
    );
    return 0;
  }
  const database = await openMigrated(session);
  if (options.newSecret) await renewSecret(database.kysely, name);
  const secret = await receiverSecret(database.kysely, name);
  // The source may repeat the address in its messages; only the result may show it.
  terminal.hide([secret]);
  const url = addressOf(base, secret);
  const registered = options.again === true || !(await isRegistered(database.kysely, name, base));
  if (registered) {
    const purpose = 'webhooks register';
    const given = { database, source: single as OpenSource, noWait: !options.wait, waitsAs: purpose };
    const answer = await withClient(session, given, client =>
      client.request({ method: 'POST', path: PATH, body: { url, events } }, { lane: 'live', purpose, signal }),
    );
    if (answer.kind === 'gone')
      throw new SluiceError('refused', `This source has no ${PATH}.`, {
        next: 'Nothing is lost: the schedule finds every change.',
      });
    await noteWebhook(database.kysely, name, base, events);
  }
  const running = await isServiceRunning(database, name);
  terminal.show({ source: name, url, events, registered, running }, () =>
    [
      registered
        ? 'Registered. The source sends these events to this address; keep the address secret:'
        : 'This address is registered already, so nothing was sent (--again sends it anyway):',
      ...addressLines(url, events),
      '',
      ...(options.newSecret ? [`The address with the secret before is accepted for ${PREVIOUS_DAYS} days.`] : []),
      ...(running ? [] : ['The service is not running. To start it: sluice start']),
      CANNOT_UNREGISTER,
    ].join('\n'),
  );
  return 0;
}

const addressLines = (url: string, events: readonly string[]): string[] => [
  `  url     ${url}`,
  `  events  ${events.join(', ')}`,
];

async function listAddresses(session: Session): Promise<0> {
  const { terminal, settings } = session;
  const database = await session.openDatabase();
  const known = await hasBookkeeping(session, database);
  const webhooks: (Webhook & { readonly source: string })[] = [];
  const rows: string[][] = [];
  for (const { name: source, timeZone } of known ? settings.sources : [])
    for (const { url, events, registeredAt } of await listWebhooks(database.kysely, source)) {
      webhooks.push({ source, url, events, registeredAt });
      rows.push([source, addressOf(url, '..'), events.join(', '), momentWithZone(registeredAt, timeZone)]);
    }
  terminal.show({ webhooks }, () => {
    if (webhooks.length === 0)
      return 'No address was registered from here. To register one: sluice webhooks register --url https://..';
    return `${table(terminal.colors, ['source', 'address', 'events', 'registered'], rows)}\n\n${CANNOT_UNREGISTER}`;
  });
  return 0;
}

const addressOf = (base: string, secret: string): string => `${base}/webhooks/${secret}`;

/** The address without its trailing slashes. Kind `usage` for one that would expose the secret in its path to others. */
function parseAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !isSecureUrl(text, true) || url.search || url.hash)
    throw new SluiceError('usage', `--url ${url?.password ? 'with a password' : text} cannot be registered.`, {
      next: 'Expected: https://sluice.example.com, without query and password (http:// only for this machine).',
    });
  return url.href.replace(/\/+$/, '');
}
