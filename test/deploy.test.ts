import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const read = (file: string) => readFileSync(new URL(`../deploy/${file}`, import.meta.url), 'utf8');
const compose = read('docker-compose.yml');
const unit = read('sluice.service');

/** The services of the compose file, as text. */
function services(): Map<string, string> {
  const [, section = ''] = /^services:\n([\s\S]*?)^volumes:/m.exec(compose) ?? [];
  const parts = section.split(/^ {2}(\w+):\n/m).slice(1);
  return new Map(parts.flatMap((name, at) => (at % 2 === 0 ? [[name, parts[at + 1] ?? ''] as const] : [])));
}

test('every image is pinned by its digest', () => {
  const images = [...compose.matchAll(/^\s*image: (\S+)/gm), ...read('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(
    ([, image]) => image,
  );
  expect(images).toHaveLength(3);
  for (const image of images) expect(image).toMatch(/^[\w./-]+:[\w.-]+@sha256:[\da-f]{64}$/);
});

test('every container runs without capabilities, cannot gain any, and cannot write its own files', () => {
  expect([...services().keys()]).toEqual(['postgres', 'sluice']);
  for (const [name, text] of services())
    for (const line of ['cap_drop: [ALL]', 'security_opt: ["no-new-privileges:true"]', 'read_only: true'])
      expect(
        text.split('\n').map(each => each.trim()),
        name,
      ).toContain(line);
});

test('the systemd unit restricts system calls, namespaces and new files, and lets V8 compile', () => {
  const settings = unit.split('\n');
  for (const line of [
    'NoNewPrivileges=yes',
    'RestrictNamespaces=yes',
    'UMask=0077',
    'SystemCallFilter=@system-service',
    'SystemCallFilter=~@privileged @resources @keyring',
    // Without it, a refused call ends the process.
    'SystemCallErrorNumber=EPERM',
  ])
    expect(settings).toContain(line);
  expect(settings.filter(line => line.startsWith('MemoryDenyWriteExecute'))).toEqual([]);
});
