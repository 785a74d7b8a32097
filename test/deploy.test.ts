import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { long } from './support/long.ts';

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

/** What the image copies from the project. */
const copied = [...read('Dockerfile').matchAll(/^COPY (?!--)(.+) \S+$/gm)].flatMap(([, files = '']) =>
  files.split(' '),
);

test('the image is given all that it copies', () => {
  const [first, ...kept] = read('Dockerfile.dockerignore').trim().split('\n');
  expect(first).toBe('*');
  const patterns = kept.map(line => new RegExp(`^${line.replace('!', '').replaceAll('.', '\\.').replace('*', '.*')}$`));
  expect(copied.filter(file => !patterns.some(pattern => pattern.test(file)))).toEqual([]);
});

long('the program can be built from what the image copies', { timeout: 600_000 }, async () => {
  const project = fileURLToPath(new URL('..', import.meta.url));
  const folder = mkdtempSync(join(tmpdir(), 'sluice-image-'));
  try {
    for (const file of copied) cpSync(join(project, file), join(folder, file), { recursive: true });
    symlinkSync(join(project, 'node_modules'), join(folder, 'node_modules'));
    await promisify(execFile)('npm', ['run', 'prepare'], { cwd: folder });
    expect(existsSync(join(folder, 'dist/src/main.js'))).toBe(true);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
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

/** The metrics that docs/metrics.md lists; metrics.test.ts holds that list against a running service. */
const METRICS = new Set(
  [...readFileSync(new URL('../docs/metrics.md', import.meta.url), 'utf8').matchAll(/^\| `(sluice_\w+)`/gm)].map(
    ([, name]) => name,
  ),
);

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary?: string; readonly description?: string };
}

test('alert rules and dashboard name metrics that exist, and say what they show', () => {
  const { groups } = parse(read('prometheus/alerts.yml')) as { groups: { rules: Rule[] }[] };
  const rules = groups.flatMap(group => group.rules);
  expect(rules.length).toBeGreaterThan(4);
  const { panels } = JSON.parse(read('grafana/dashboard.json')) as {
    panels: { title: string; description: string; targets: { expr: string }[] }[];
  };
  expect(panels.length).toBeGreaterThan(8);
  const expressions = [
    ...rules.map(({ expr }) => expr),
    ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ];
  const named = expressions.flatMap(expression => expression.match(/sluice_\w+/g) ?? []);
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter(name => !METRICS.has(name))).toEqual([]);
  for (const { alert, annotations } of rules)
    expect(annotations.summary && annotations.description, alert).toBeTruthy();
  for (const { title, description } of panels) expect(description, title).not.toBe('');
});

test('on Kubernetes, two replicas run without root, capabilities or a writable file system', () => {
  const [deployment, service, budget] = parseAllDocuments(read('kubernetes.yml')).map(
    document => document.toJS() as unknown,
  );
  expect(deployment).toMatchObject({
    kind: 'Deployment',
    spec: {
      replicas: 2,
      template: {
        spec: {
          enableServiceLinks: false,
          automountServiceAccountToken: false,
          terminationGracePeriodSeconds: 45,
          securityContext: { runAsNonRoot: true },
          containers: [
            {
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
              },
            },
          ],
        },
      },
    },
  });
  expect(service).toMatchObject({ kind: 'Service', spec: { selector: { app: 'sluice' } } });
  expect(budget).toMatchObject({ kind: 'PodDisruptionBudget', spec: { minAvailable: 1 } });
});
