import type { Command } from 'commander';
import { SluiceError } from '../../errors.ts';
import { openClient } from '../../source/client.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { listWebhooks, noteWebhook, receiverSecret, type Webhook } from '../../warehouse/ledgers/receivers.ts';
import { type Cli, newCommand, type Session } from '../cli.ts';
import { table } from '../output/table.ts';
import { createWaitNote } from '../output/wait-note.ts';
import { zoned } from '../output/zoned.ts';
import { bringUpToDate, hasBookkeeping } from '../run/pending-migrations.ts';
import { isServed } from '../run/running-service.ts';
import { openLedger, type SourceSettings } from '../source-settings.ts';

const PATH = '/api/v2/webhooks';
const FOR_GOOD =
  'The API documents no way to list or remove a registration: to end it, look in the administration of the source. What still arrives after that does no harm.';

export function webhooksCommand(cli: Cli): Command {
  const webhooks = newCommand(
    'webhooks',
    'Let the source tell when something happens, so that it is read within seconds',
    'sluice webhooks register --url https://sluice.example.com\nsluice webhooks list',
  );
  webhooks.addCommand(
    newCommand(
      'register',
      'Register the address of this service at the source; costs one request',
      'sluice webhooks register --url https://sluice.example.com --dry-run\nsluice webhooks register --url https://sluice.example.com',
    )
      .requiredOption(
        '--url <address>',
        'where the source reaches this service (SLUICE_HOST and SLUICE_PORT, or what is before them)',
      )
      .option('--dry-run', 'show what would be registered; nothing is asked or kept')
      .option('--again', 'although this address is registered already')
      .option('--no-wait', 'stop with exit code 75 instead of waiting for the request limit')
      .action(cli.action({ source: true }, register)),
  );
  webhooks.addCommand(
    newCommand('list', 'What was registered from here', 'sluice webhooks list').action(
      cli.action({ source: false }, list),
    ),
  );
  return webhooks;
}

interface Registering {
  readonly url: string;
  readonly dryRun?: boolean;
  readonly again?: boolean;
  readonly wait: boolean;
}

async function register(session: Session, options: Registering): Promise<0> {
  const { terminal, settings, jobs } = session;
  const base = baseAddress(options.url);
  const events = [...new Set([...jobs.values()].flatMap(job => Object.keys(job.events)))].sort();
  const name = settings.sourceName;
  if (options.dryRun) {
    const url = addressOf(base, '<secret>');
    terminal.show({ dryRun: true, source: name, url, events }, () =>
      [
        `POST ${PATH} would be sent to the source, with:`,
        `  url     ${url}`,
        `  events  ${events.join(', ')}`,
        '',
        FOR_GOOD,
      ].join('\n'),
    );
    return 0;
  }
  const database = await session.openDatabase();
  await bringUpToDate(session, database);
  const known = await listWebhooks(database.kysely, name);
  const secret = await receiverSecret(database.kysely, name);
  // The source may repeat the address in what it says; the result alone shows it.
  terminal.hide([secret]);
  const url = addressOf(base, secret);
  const before = known.some(webhook => webhook.url === base);
  if (!before || options.again) {
    const source = settings.source as SourceSettings;
    await post(session, database, { name, source, body: { url, events }, noWait: !options.wait });
    await noteWebhook(database.kysely, name, base, events);
  }
  const running = await isServed(database, name);
  terminal.show({ source: name, url, events, registered: !before || options.again === true, running }, () =>
    [
      before && !options.again
        ? 'This address is registered already, so nothing was sent (--again sends it nevertheless):'
        : 'Registered. The source tells of these events at this address, which is a secret:',
      `  url     ${url}`,
      `  events  ${events.join(', ')}`,
      '',
      running ? FOR_GOOD : `The service does not run at the moment: sluice start\n${FOR_GOOD}`,
    ].join('\n'),
  );
  return 0;
}

async function post(
  { terminal, clock, log, signal }: Session,
  database: Database,
  sent: { name: string; source: SourceSettings; body: { url: string; events: string[] }; noWait: boolean },
): Promise<void> {
  const { name, source, body, noWait } = sent;
  const note = createWaitNote(terminal, clock, 'webhooks register', source.timeZone);
  const client = openClient({ ...source, ...note, budget: openLedger(database, name, source), noWait, clock, log });
  try {
    const context = { lane: 'live', purpose: 'webhooks register', signal } as const;
    const answer = await client.request({ method: 'POST', path: PATH, body }, context);
    if (answer.kind === 'gone')
      throw new SluiceError('refused', `This source has no ${PATH}.`, {
        next: 'Nothing is lost: every change is found by the schedule.',
      });
  } finally {
    await client.close();
  }
}

async function list(session: Session): Promise<0> {
  const { terminal, settings } = session;
  const database = await session.openDatabase();
  const known = await hasBookkeeping(session, database);
  const webhooks: (Webhook & { source: string; timeZone: string })[] = [];
  for (const { name: source, timeZone } of known ? settings.sources : [])
    for (const webhook of await listWebhooks(database.kysely, source)) webhooks.push({ source, timeZone, ...webhook });
  const document = webhooks.map(({ source, url, events, registeredAt }) => ({ source, url, events, registeredAt }));
  terminal.show({ webhooks: document }, () => {
    if (webhooks.length === 0)
      return 'Nothing was registered from here. Next: sluice webhooks register --url https://..';
    const rows = webhooks.map(each => [
      each.source,
      addressOf(each.url, '..'),
      each.events.join(', '),
      zoned(each.registeredAt, each.timeZone),
    ]);
    return `${table(terminal.colors, ['source', 'address', 'events', 'registered'], rows)}\n\n${FOR_GOOD}`;
  });
  return 0;
}

const addressOf = (base: string, secret: string): string => `${base}/webhooks/${secret}`;

/** The address without what a path is put behind. Kind `usage` for one over which the secret would be read by others. */
function baseAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const local = url !== null && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
  const ok = url !== null && (url.protocol === 'https:' || (url.protocol === 'http:' && local));
  if (!ok || url.username || url.password || url.search || url.hash)
    throw new SluiceError('usage', `--url ${url?.password ? 'with a password' : text} is no address to register.`, {
      next: 'Expected: https://sluice.example.com, without query and password (http:// only for this machine itself).',
    });
  return url.href.replace(/\/+$/, '');
}
