import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

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
