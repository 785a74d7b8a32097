import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

/*
 * `npm run release -- 0.2.0`: checks everything, then makes the commit and the tag of a version. It publishes
 * nothing: pushing the tag does. docs/releasing.md
 */
const CHANGELOG = 'CHANGELOG.md';
const UNRELEASED = '## [Unreleased]\n';

const run = (program, ...args) => execFileSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'] });
const ask = (program, ...args) => execFileSync(program, args, { encoding: 'utf8' }).trim();

function refuse(message) {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

const [version = ''] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) refuse('Usage: npm run release -- <version>, such as 0.2.0');
if (ask('git', 'status', '--porcelain') !== '') refuse('Some changes are not committed. Commit or remove them first.');
if (ask('git', 'branch', '--show-current') !== 'main') refuse('A version is made on the branch main.');
if (ask('git', 'tag', '--list', `v${version}`) !== '') refuse(`The tag v${version} exists already.`);
const text = readFileSync(CHANGELOG, 'utf8');
const [, changes = ''] = /## \[Unreleased\]\n([\s\S]*?)(?=^## \[|$(?![\s\S]))/m.exec(text) ?? [];
if (changes.trim() === '') refuse(`${CHANGELOG} says nothing under [Unreleased]. Say there what is new.`);

for (const script of ['check', 'test', 'test:browser', 'test:package']) run('npm', 'run', script);

const today = new Date().toISOString().slice(0, 10);
writeFileSync(
  CHANGELOG,
  text.replace(UNRELEASED, () => `${UNRELEASED}\n## [${version}] - ${today}\n`),
);
run('npm', 'version', version, '--no-git-tag-version', '--allow-same-version');
run('git', 'commit', '--all', '--message', `Version ${version}`);
run('git', 'tag', '--annotate', `v${version}`, '--message', `Version ${version}`);
process.stdout.write(`\nVersion ${version} is committed and tagged. To publish it: git push --follow-tags\n`);
