import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { noteTroubles, openIncidents } from '../../src/warehouse/ledgers/incidents.ts';
import { endRun, startRun } from '../../src/warehouse/ledgers/runs.ts';
import { begin, KEY, run, until, useBuild, withInstallation } from '../cli/run-command.ts';
import { differences } from '../support/compare.ts';
import { long } from '../support/long.ts';
import { MAIN, scheduled } from '../support/resources.ts';
import { ask } from './with-service.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });
useBuild();

const TOKEN = 'token-77/secret-of-start';
/** Ticks so rare that none comes by itself. */
const RARE = scheduled('0 0 1 1 *');

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await new Promise<number>(resolve =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
  );
  await new Promise(resolve => server.close(resolve));
  return port;
}

long('a service with a registered webhook reads a new invoice in a few requests, without a tick', async () => {
  await withInstallation({}, async ({ sandbox, database, env }) => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const settings = { ...env, ...RARE, SLUICE_PORT: String(port), SLUICE_TOKEN: TOKEN };
    const sluice = (...args: string[]) => run(args, { env: settings });
    const service = begin(['start'], { env: settings });
    const status = (path: string) =>
      ask(`${url}${path}`).then(
        answer => answer.status,
        () => 0,
      );
    await until(async () => (await status('/readyz')) === 200);
    expect(await status('/healthz')).toBe(200);
    const slots = async () =>
      (
        await database.query<{ n: number }>(
          `select count(*)::int as n from sluice.runs where kind = 'slot' and state = 'done'`,
        )
      ).rows[0]?.n;
    // The first start reads everything at once.
    await until(async () => (await slots()) === 3);
    expect(await differences(database, sandbox)).toEqual([]);

    const dry = await sluice('webhooks', 'register', '--url', url, '--dry-run');
    expect([dry.code, dry.stdout]).toEqual([0, expect.stringContaining(`${url}/webhooks/<secret>`)]);
    const registered = (await sluice('webhooks', 'register', '--url', `${url}/`, '--json')).json();
    expect(registered).toMatchObject({
      source: 'main',
      url: expect.stringMatching(new RegExp(`^${url}/webhooks/[\\w-]{43}$`)) as string,
      events: ['invoice.created', 'payment.received'],
      registered: true,
      running: true,
    });
    expect((await sluice('webhooks', 'register', '--url', url, '--json')).json()).toMatchObject({ registered: false });
    expect(sandbox.stats.requests.filter(({ path }) => path.includes('webhooks'))).toHaveLength(1);
    const secret = (registered.url as string).split('/').at(-1) as string;
    const list = await sluice('webhooks', 'list');
    expect(list.stdout).toContain(`${url}/webhooks/..`);
    expect(list.stdout).not.toContain(secret);

    const { id } = sandbox.change('invoice-new');
    await until(
      async () => (await database.query('select from warehouse.invoices where id = $1', [id])).rows.length === 1,
    );
    const hints = `select requests::int as requests from sluice.runs where kind = 'hint' and state = 'done'`;
    await until(async () => (await database.query(hints)).rows.length > 0);
    const [hint] = (await database.query<{ requests: number }>(hints)).rows;
    expect(hint?.requests).toBeLessThanOrEqual(3);
    expect(await slots()).toBe(3);

    expect(await status('/')).toBe(401);
    const headers = { authorization: `Bearer ${TOKEN}` };
    const page = await ask(url, { headers });
    const metrics = await ask(`${url}/metrics`, { headers });
    expect(page.text).toContain('<h2 id="source-main">');
    expect(metrics.text).toContain('sluice_rows{source="main",resource="customers"} 150');
    expect(metrics.text).toContain('sluice_webhooks_received_total{result="hint"} 1');

    const renewed = (await sluice('webhooks', 'register', '--url', url, '--new-secret', '--json')).json();
    expect(renewed).toMatchObject({ registered: true, url: expect.not.stringContaining(secret) as string });
    for (const address of [registered.url, renewed.url])
      expect((await ask(address as string, { method: 'POST', body: '{}' })).status).toBe(200);
    expect((await sluice('webhooks', 'register', '--url', url, '--json')).json()).toEqual({
      ...renewed,
      registered: false,
    });

    const second = await sluice('start');
    expect([second.code, second.stderr]).toEqual([2, expect.stringContaining('SLUICE_PORT')]);

    service.child.kill('SIGTERM');
    const { code, stderr } = await service.ended;
    expect(code).toBe(0);
    for (const text of [stderr, page.text, metrics.text])
      for (const each of [secret, TOKEN, KEY]) expect(text).not.toContain(each);
  });
});

test('without a token, start refuses a host that other machines reach, before it starts anything', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-open-'));
  const dataDir = join(folder, 'data');
  const env = { SOURCE_URL: 'http://127.0.0.1:9', SOURCE_API_KEY: KEY, SLUICE_DATA_DIR: dataDir };
  const { code, stderr } = await run(['start'], { env: { ...env, SLUICE_HOST: '0.0.0.0' } });
  expect([code, stderr]).toEqual([2, expect.stringContaining('SLUICE_TOKEN')]);
  expect(existsSync(dataDir)).toBe(false);
  rmSync(folder, { recursive: true });
});

long('two services with a wrong key send one alert, and one more when the key is corrected', async () => {
  const alerts: { text: string }[] = [];
  const receiver = createHttpServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    request.on('end', () => {
      alerts.push(JSON.parse(text) as { text: string });
      response.end('ok');
    });
  });
  await new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve));
  const { port } = receiver.address() as AddressInfo;
  await withInstallation({}, async ({ database, env, sync }) => {
    const alerting = { ...env, ...RARE, ALERT_WEBHOOK_URL: `http://127.0.0.1:${port}/hook-secret-9` };
    const stop = async (service: ReturnType<typeof begin>) => {
      service.child.kill('SIGTERM');
      const { code, stderr } = await service.ended;
      expect([code, stderr]).toEqual([0, expect.not.stringContaining('hook-secret-9')]);
    };
    const services = [1, 2].map(() => begin(['start'], { env: { ...alerting, SOURCE_API_KEY: 'wrong-key-7' } }));
    await until(() => alerts.length > 0);
    await Promise.all(services.map(stop));
    expect(alerts.map(alert => alert.text)).toEqual([
      expect.stringMatching(/^Sluice: API key rejected \(main\)\n(?!.*wrong-key-7)/s),
    ]);

    await sync(...MAIN);
    const healed = begin(['start'], { env: alerting });
    await until(() => alerts.length > 1);
    await stop(healed);
    expect(alerts.slice(1).map(alert => alert.text)).toEqual([
      expect.stringMatching(/^Resolved: API key rejected \(main\)/),
    ]);
    const { rows } = await database.query(
      'select kind, resource, ended_at is not null as over, told_end_at is not null as told from sluice.incidents',
    );
    expect(rows).toEqual([{ kind: 'unauthorized', resource: null, over: true, told: true }]);
  });
  await new Promise(resolve => receiver.close(resolve));
});

test('switching off a resource ends its incidents and hides its failed slots', async () => {
  await withInstallation({}, async ({ database, env }) => {
    const { kysely } = database;
    const slot = { source: 'main', resource: 'customers', kind: 'slot', orderId: null, slotAt: null };
    await endRun(kysely, await startRun(kysely, slot), {
      state: 'failed',
      failure: 'unauthorized',
      reason: 'Refused.',
    });
    await noteTroubles(kysely, 'main', [
      { kind: 'unauthorized', resource: 'customers', message: 'Refused.', next: null },
    ]);
    const settings = { ...env, ...RARE, SCHEDULE_CUSTOMERS: 'off' };
    expect((await run(['status', '--json'], { env })).json().failed).toMatchObject([{ resource: 'customers' }]);
    expect((await run(['status', '--json'], { env: settings })).json().failed).toEqual([]);
    const service = begin(['start'], { env: settings });
    await until(async () => (await openIncidents(kysely, 'main')).length === 0);
    service.child.kill('SIGTERM');
    expect((await service.ended).code).toBe(0);
  });
});

test('a webhook address that would expose its secret is not registered', async () => {
  await withInstallation({}, async ({ sandbox, sluice }) => {
    for (const url of [
      'http://sluice.example.com',
      'sluice.example.com',
      'ftp://127.0.0.1',
      'https://me:pass-1@sluice.example.com',
      'https://sluice.example.com/?x=1',
      'http://127.0.0.1.example.com',
    ]) {
      const refused = await sluice('webhooks', 'register', '--url', url);
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('https://sluice.example.com')]);
      expect(refused.stderr).not.toContain('pass-1');
    }
    expect((await sluice('webhooks', 'list')).stdout).toContain('No address was registered');
    expect(sandbox.stats.total).toBe(0);
  });
});

test('a source that quotes the webhook address in its refusal does not expose the secret', async () => {
  const secrets: string[] = [];
  const source = createHttpServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    request.on('end', () => {
      const { url } = JSON.parse(text) as { url: string };
      secrets.push(url.split('/').at(-1) as string);
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ success: false, message: `The address ${url} is not reachable.` }));
    });
  });
  await new Promise<void>(resolve => source.listen(0, '127.0.0.1', resolve));
  const { port } = source.address() as AddressInfo;
  await withInstallation({}, async ({ env }) => {
    const settings = { ...env, SOURCE_URL: `http://127.0.0.1:${port}`, LOG_LEVEL: 'trace' };
    const args = ['webhooks', 'register', '--url', 'https://sluice.example.com'];
    for (const each of [args, [...args, '--json']]) {
      const { code, stdout, stderr } = await run(each, { env: settings });
      expect([code, stdout + stderr]).toEqual([1, expect.stringMatching(/webhooks\/\[secret\] is not reachable/)]);
      expect(stdout + stderr).not.toContain(secrets.at(-1));
    }
  });
  source.closeAllConnections();
  await new Promise(resolve => source.close(resolve));
});
