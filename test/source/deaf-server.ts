import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { onTestFinished } from 'vitest';

/** Listens, and then never accepts: Linux takes two connections into a backlog of one, and drops what asks for more. */
const LISTEN = `require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () {
  require('node:fs').writeSync(1, String(this.address().port));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
})`;

/** The address of a server to which no connection comes about, as behind a firewall that drops packets. Ends with the test. */
export async function openDeafServer(): Promise<string> {
  const server = spawn(process.execPath, ['-e', LISTEN], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(async () => {
    server.kill('SIGKILL');
    await once(server, 'exit');
  });
  const [port] = await once(server.stdout, 'data');
  for (let taken = 0; taken < 2; taken++) {
    const filler = connect(Number(port), '127.0.0.1');
    filler.on('error', () => {}); // The server is killed below it.
    onTestFinished(() => void filler.destroy());
    await once(filler, 'connect');
  }
  return `http://127.0.0.1:${port}`;
}
