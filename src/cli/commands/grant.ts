import type { Command } from 'commander';
import { SluiceError } from '../../errors.ts';
import { grantReading, type ReadingLogin } from '../../warehouse/database/grant-reading.ts';
import { openMigrated } from '../run/pending-migrations.ts';
import { type Cli, newCommand, type Session, type Warehouse } from '../session/session.ts';

export function command(cli: Cli): Command {
  return newCommand('grant', 'sluice grant\nsluice grant bi_tool')
    .argument('[login]', 'name of the login (default: <database>_reader)')
    .option('--new-password', 'set a new password for a login that exists, and its settings as for a new login')
    .action(cli.action({ source: false }, grant));
}

async function grant(session: Session, login: string | undefined, options: { newPassword?: boolean }): Promise<0> {
  const { settings, terminal } = session;
  const isEmbedded = settings.databaseUrl === null;
  if (isEmbedded && (login !== undefined || options.newPassword))
    throw new SluiceError('usage', 'The embedded Postgres has one login that may only read, which Sluice creates.', {
      next: 'sluice status prints its address.',
    });
  const database = await openMigrated(session);
  const name = login ?? (isEmbedded && database.readerUrl ? new URL(database.readerUrl).username : undefined);
  const granted = await grantReading(database, {
    ...(name === undefined ? {} : { login: name }),
    newPassword: options.newPassword === true,
  });
  const { password, ...rest } = granted;
  const url = password === null ? null : addressOf(database, granted.login, password);
  terminal.show({ ...rest, url }, () => describe(granted, url));
  return 0;
}

function addressOf({ url }: Warehouse, login: string, password: string): string {
  const address = new URL(url);
  const { searchParams } = address;
  for (const name of ['user', 'password']) searchParams.delete(name);
  // A URL without a host, as for a Unix socket, has no place for them before it.
  if (address.hostname === '') {
    searchParams.set('user', login);
    searchParams.set('password', password);
  } else Object.assign(address, { username: encodeURIComponent(login), password });
  return address.href;
}

function describe({ login, revoked, open }: ReadingLogin, url: string | null): string {
  const lines = [`The login ${login} may read everything that Sluice keeps in this database, and change nothing.`];
  if (url !== null)
    lines.push('', 'Its address, which is not shown again. Set it where people query:', `  READER_DATABASE_URL=${url}`);
  if (revoked.length > 0) lines.push('', `Revoked from everybody else, too (PUBLIC): ${revoked.join(', ')}.`);
  if (open.length > 0)
    lines.push(
      '',
      'Postgres lets everybody write in these ways, too. To end that, let an administrator run:',
      ...open.map(statement => `  ${statement};`),
    );
  return lines.join('\n');
}
