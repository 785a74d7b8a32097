import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CHANGES = '# Changelog\n\n## [Unreleased]\n\n- Something new.\n\n## [0.1.0] - 2026-01-15\n\n- The first.\n';

/** A repository with the scripts of this one, which do nothing. */
function newRepository(changelog: string) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-release-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).trim();
  mkdirSync(join(folder, 'deploy'));
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };
  const idle = Object.fromEntries(Object.keys(scripts).map(name => [name, 'true']));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'x', version: '0.1.0', scripts: idle }));
  writeFileSync(join(folder, 'CHANGELOG.md'), changelog);
  git('init', '--quiet', '--initial-branch=main');
  git('config', 'user.name', 'Test');
  git('config', 'user.email', 'test@example.com');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'First');
  const release = (...args: string[]) => {
    const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'deploy/release.mjs'), ...args], {
      cwd: folder,
      encoding: 'utf8',
    });
    return { status, stderr };
  };
  return { folder, git, release };
}

test('a release dates the changelog, sets the version, commits and tags, and publishes nothing', () => {
  const { folder, git, release } = newRepository(CHANGES);
  expect(release('0.2.0').status).toBe(0);
  const changelog = readFileSync(join(folder, 'CHANGELOG.md'), 'utf8');
  const [, date] = /^## \[0\.2\.0\] - (\d{4}-\d\d-\d\d)$/m.exec(changelog) ?? [];
  expect(changelog).toBe(CHANGES.replace('[Unreleased]\n', `[Unreleased]\n\n## [0.2.0] - ${date}\n`));
  expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).toMatchObject({ version: '0.2.0' });
  expect([git('tag'), git('log', '-1', '--format=%s'), git('status', '--porcelain')]).toEqual([
    'v0.2.0',
    'Version 0.2.0',
    '',
  ]);
  // Once more: the tag is taken, and nothing is left to release.
  expect(release('0.2.0')).toEqual({ status: 2, stderr: 'The tag v0.2.0 exists already.\n' });
  expect(release('0.3.0').stderr).toContain('says nothing under [Unreleased]');
});

test('a release is refused without a version, with uncommitted changes, and on another branch', () => {
  const { folder, git, release } = newRepository(CHANGES);
  expect(release().stderr).toContain('Usage: npm run release');
  git('switch', '--quiet', '--create', 'other');
  expect(release('0.2.0').stderr).toContain('on the branch main');
  writeFileSync(join(folder, 'CHANGELOG.md'), `${CHANGES}\n`);
  expect(release('0.2.0').stderr).toContain('not committed');
  expect(git('tag')).toBe('');
});

test('the workflow publishes with provenance, and only a pushed tag starts it', () => {
  const workflow = parse(readFileSync(join(ROOT, '.github/workflows/release.yml'), 'utf8'));
  expect(workflow.on).toEqual({ push: { tags: ['v*'] } });
  expect(workflow.jobs.publish.permissions).toEqual({ contents: 'read', 'id-token': 'write' });
  expect(workflow.jobs.publish.steps.map((step: { run?: string }) => step.run)).toContain(
    'npm publish --provenance --access public',
  );
});

test('the newest version of the changelog is that of package.json', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
  expect(/^## \[(\d[^\]]*)\]/m.exec(changelog)?.[1]).toBe(version);
});
