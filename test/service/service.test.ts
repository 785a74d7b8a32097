import { connect, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { withDatabase } from '../support/database.ts';
import { long } from '../support/long.ts';
import { ask, withService } from './with-service.ts';

const TOKEN = 'token-5f/+&"x';

test('a port in use is reported with the next step, and a service that other machines reach requires a token', async () => {
  await withDatabase(async database => {
    const taken = createServer();
    const port = await new Promise<number>(resolve =>
      taken.listen(0, '127.0.0.1', () => resolve((taken.address() as { port: number }).port)),
    );
    await expect(withService(database, { port }, async () => undefined)).rejects.toMatchObject({
      kind: 'configuration',
      message: expect.stringContaining(`port ${port}: another program uses that port`) as string,
      next: expect.stringContaining('SLUICE_PORT') as string,
    });
    await new Promise(resolve => taken.close(resolve));
    await withService(database, { host: '0.0.0.0', token: TOKEN }, async ({ url }) => {
      expect((await ask(`${url.replace('0.0.0.0', '127.0.0.1')}/`)).status).toBe(401);
    });
  });
});

test('an unknown path is answered with the list of known paths', async () => {
  await withDatabase(async database => {
    await withService(database, {}, async ({ url }) => {
      expect(await ask(`${url}/nothing`)).toMatchObject({
        status: 404,
        text: expect.stringContaining('/metrics') as string,
      });
      expect((await ask(`${url}/`, { method: 'POST', body: 'x' })).status).toBe(403);
    });
  });
});

test('the service closes while a client stays connected', async () => {
  await withDatabase(async database => {
    let served = '';
    await withService(database, {}, async ({ url }) => {
      served = url;
      await fetch(`${url}/healthz`);
    });
    await expect(fetch(`${served}/healthz`)).rejects.toThrow();
  });
});

long('slow clients hold no connection for long, and keep nobody else waiting', async () => {
  await withDatabase(async database => {
    await withService(database, {}, async ({ url }) => {
      const { port } = new URL(url);
      const slow = Array.from({ length: 50 }, () => connect(Number(port), '127.0.0.1'));
      const ended = slow.map(
        socket =>
          new Promise<void>(resolve =>
            socket
              .on('close', () => resolve())
              .on('error', () => undefined)
              .resume(),
          ),
      );
      for (const socket of slow) socket.write('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ');
      expect((await ask(`${url}/`)).status).toBe(200);
      await Promise.all(ended);
      expect((await ask(`${url}/`)).status).toBe(200);
    });
  });
});
