import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { parseEnv } from 'node:util';
import { isCancel, password, text } from '@clack/prompts';
import type { Command } from 'commander';
import { replaceFile } from '../../config/changed-file.ts';
import { withVariable } from '../../config/setting-file.ts';
import { capitalized, SluiceError, sentence } from '../../errors.ts';
import { type Cli, newCommand, type Session } from '../session/session.ts';
import type { Shell } from '../session/shell.ts';
import { checkAnswer } from './doctor.ts';

const EXAMPLES = `sluice init
sluice init --url https://books.example.com < key.txt`;

interface Options {
  readonly url?: string;
  readonly force?: boolean;
}

export function command(cli: Cli): Command {
  return newCommand('init', EXAMPLES)
    .option('--url <url>', 'the address; the key is then read from standard input unless that is a terminal')
    .option('--force', 'replace the address and key that .env sets')
    .action(cli.action({ source: false }, init));
}

async function init(session: Session, options: Options): Promise<0> {
  const { terminal, shell, settings: current } = session;
  if (current.sourcesFile !== null)
    terminal.note(
      `${basename(current.sourcesFile)} describes the sources and takes precedence: while it exists, SOURCE_URL in .env has no effect. To add a source to it: docs/several-sources.md`,
    );
  const file = join(shell.cwd, '.env');
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const answers = await readAnswers(shell, options);
  terminal.hide([answers.key]);
  const settings = { SOURCE_URL: answers.url, SOURCE_API_KEY: answers.key };
  const source = session.sourceWith(settings);
  refuseReplacing(before, settings, options);
  const after = Object.entries(settings).reduce((text, [name, value]) => changed(file, text, name, value), before);

  const checks = await checkAnswer(session, source, undefined);
  const failed = checks.find(({ ok }) => !ok);
  if (failed)
    throw new SluiceError('failed', `${sentence(capitalized(failed.found))} Nothing was written.`, {
      ...(failed.next && { next: failed.next }),
    });
  replaceFile(file, after, 0o600, { setsMode: true });
  for (const name of Object.keys(settings))
    if (shell.env[name] !== undefined && shell.env[name] !== settings[name as keyof typeof settings])
      terminal.note(`${name} is set in the environment too, and that value is used: unset ${name}`);
  const found = checks.map(each => each.found);
  terminal.show({ file, url: answers.url, found }, () =>
    [
      ...checks.map(({ check, found: what }) => `${terminal.colors.green('ok')}  ${check.padEnd(8)}${what}`),
      '',
      `Written to ${file}, which only you can read. Next: sluice sync`,
    ].join('\n'),
  );
  return 0;
}

async function readAnswers(shell: Shell, { url }: Options): Promise<{ url: string; key: string }> {
  if (shell.stdin.isTTY) return ask(shell, url);
  const key = (await readAll(shell.stdin)).trim();
  if (url !== undefined && key !== '') return { url, key };
  const missing = url === undefined ? '--url' : 'The key';
  throw new SluiceError('usage', `${missing} is missing, and there is no terminal to ask on.`, {
    next: 'Example: sluice init --url https://books.example.com < key.txt',
  });
}

/** Asks on the terminal for the key, which is not shown as it is typed, and for the address unless it is given. */
async function ask(
  { stdin: input, stdout: output }: Shell,
  given: string | undefined,
): Promise<{ url: string; key: string }> {
  const validate = (value: string | undefined) => (value?.trim() ? undefined : 'Needed to read the source.');
  const cancelled = () => new SluiceError('stopped', 'Stopped; nothing was written.');
  const placeholder = 'https://books.example.com';
  const url = given ?? (await text({ message: 'Address of the installation', placeholder, validate, input, output }));
  if (isCancel(url)) throw cancelled();
  const key = await password({ message: 'API key (Settings, API Access)', mask: '*', validate, input, output });
  if (isCancel(key)) throw cancelled();
  return { url: url.trim(), key: key.trim() };
}

function refuseReplacing(before: string, settings: Readonly<Record<string, string>>, { force }: Options): void {
  const known = parseEnv(before) as Record<string, string | undefined>;
  const other = Object.keys(settings).find(name => known[name] && known[name] !== settings[name]);
  if (other === undefined || force) return;
  throw new SluiceError('usage', `.env sets another ${other} already.`, {
    next: 'To replace it: sluice init --force. For a second source: docs/several-sources.md',
  });
}

function changed(file: string, before: string, name: string, value: string): string {
  const after = withVariable(before, name, value);
  if (after !== null) return after;
  throw new SluiceError('failed', `${file} could not be changed without changing more.`, {
    next: `Set ${name} there by hand.`,
  });
}
