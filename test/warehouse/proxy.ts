import { connect, createServer, type Socket } from 'node:net';
import { pipeline, Transform } from 'node:stream';
import { inject } from 'vitest';
import { createLog } from '../../src/log.ts';
import { openDatabase } from '../../src/warehouse/database/database.ts';

/** A proxy in front of the database server; a connection that breaks on one side breaks on the other. `alter` gets what clients send, as latin1. */
export async function openProxy(alter: (text: string) => string = text => text) {
  const { hostname, port } = new URL(inject('postgresUrl'));
  const clients: Socket[] = [];
  const server = createServer(client => {
    clients.push(client);
    const target = connect(Number(port), hostname);
    const altered = new Transform({
      transform: (data: Buffer, _encoding, done) => done(null, Buffer.from(alter(data.toString('latin1')), 'latin1')),
    });
    pipeline(client, altered, target, () => undefined);
    pipeline(target, client, () => undefined);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return {
    open(test: { url: string }) {
      const url = new URL(test.url);
      url.port = String((server.address() as { port: number }).port);
      return openDatabase({
        url: url.href,
        applicationName: 'between',
        log: createLog({ level: 'error' }),
      });
    },
    drop() {
      for (const client of clients) client.destroy();
    },
    close: () => new Promise(resolve => server.close(resolve)),
  };
}
