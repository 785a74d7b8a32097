import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { say, shell, startSandbox } from './shell.ts';
import { tour } from './tour.ts';

const HELP = `npm run test:package -- [--nodes 20,22,24]

Packs the program, installs the file in an empty folder, and runs the demo on each version of Node (from the npm package
"node"). Then times what a newcomer types, from npm install to the first answer, with the sandbox as the source.

Then a tour on each version of Node, in a folder of its own, prints what is typed, how long it takes and what comes of it:
a custom field as a column, a phone number nowhere, a hashed e-mail that joins, another list of the source, a sealed month
and a restatement, a reserve that holds, and an uninstall that leaves nothing.

Exit code: 0 everything ran, 1 something did not.
`;

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SANDBOX = { url: 'http://127.0.0.1:4010', key: 'sandbox-key' };

const { values } = parseArgs({
  options: { nodes: { type: 'string', default: '20,22,24' }, help: { type: 'boolean' } },
});
if (values.help) process.stdout.write(HELP);
else await run(values.nodes.split(','));

async function run(nodes: readonly string[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-package-'));
  // Run as root, the embedded server belongs to an unprivileged user, who has to be able to enter.
  chmodSync(folder, 0o755);
  try {
    const file = await pack(folder);
    for (const node of nodes) await demo(await newFolder(folder, `node-${node}`), file, node);
    await firstAnswer(await newFolder(folder, 'newcomer'), file);
    for (const node of nodes) await tour(await newFolder(folder, `tour-${node}`), file, node);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The path of the packed file. */
async function pack(folder: string): Promise<string> {
  const [packed] = JSON.parse(await shell(ROOT, `npm pack --silent --json --pack-destination ${folder}`)) as [
    { filename: string; files: { path: string }[] },
  ];
  const strange = packed.files.filter(
    ({ path }) => !/^(dist\/|README\.md|CHANGELOG\.md|LICENSE|package\.json)/.test(path),
  );
  if (strange.length > 0) throw new Error(`The package holds ${strange.map(({ path }) => path).join(', ')}`);
  const file = join(folder, packed.filename);
  say(`${packed.filename}: ${packed.files.length} files, ${(statSync(file).size / 2 ** 20).toFixed(1)} MB`);
  return file;
}

async function newFolder(parent: string, name: string): Promise<string> {
  const folder = join(parent, name);
  await shell(parent, `mkdir ${name} && chmod 755 ${name} && cd ${name} && npm init -y`);
  return folder;
}

async function demo(folder: string, file: string, node: string): Promise<void> {
  await shell(folder, `npm install --no-audit --no-fund ${file}`);
  const version = (await onNode(folder, node, 'node --version')).trim().split('\n').at(-1);
  const shown = await onNode(folder, node, 'sluice demo');
  await onNode(folder, node, 'sluice stop-db');
  if (!shown.includes('every row is equal')) throw new Error(shown);
  say(`demo on Node ${version}: every row is equal`);
}

async function onNode(folder: string, node: string, command: string): Promise<string> {
  return shell(folder, `npx --yes --package node@${node} --call '${command}'`);
}

async function firstAnswer(folder: string, file: string): Promise<void> {
  const commands = [
    `npm install --no-audit --no-fund ${file}`,
    `npx sluice init --url ${SANDBOX.url} < key.txt`,
    'npx sluice sync',
    'npx sluice sql "select month, billed, paid from revenue_by_month order by month desc limit 3"',
  ];
  await shell(folder, `echo ${SANDBOX.key} > key.txt`);
  const sandbox = await startSandbox(ROOT, 'npx tsx src/main.ts sandbox --port 4010');
  try {
    let total = 0;
    for (const command of commands) {
      const start = performance.now();
      const output = await shell(folder, command);
      const seconds = (performance.now() - start) / 1000;
      total += seconds;
      say(`${seconds.toFixed(1).padStart(6)} s  ${command.replace(file, './sluice.tgz')}`);
      if (command === commands.at(-1)) say(output.trimEnd());
    }
    say(`${total.toFixed(1).padStart(6)} s  from an empty folder to the first answer, ${commands.length} commands`);
    await ownList(folder);
    await shell(folder, 'npx sluice stop-db');
  } finally {
    await sandbox.stop();
  }
}

/** A list that a file of the folder declares, as the installed package reads it. */
async function ownList(folder: string): Promise<void> {
  const list = { path: '/api/v2/tickets', fields: { id: 'integer', status: 'text' } };
  mkdirSync(join(folder, 'lists'));
  writeFileSync(join(folder, 'lists/desk.json'), JSON.stringify(list));
  await shell(folder, 'npx sluice sync desk');
  const same =
    'select (select count(*) from desk) = (select count(*) from tickets) and count(status) > 0 as same from desk';
  const answer = await shell(folder, `npx sluice sql --format csv "${same}"`);
  if (!/^(t|true)$/m.test(answer)) throw new Error(answer);
  say('a list of its own, declared in lists/desk.json: as many rows as the source has');
}
