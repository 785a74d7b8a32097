import { appendFileSync, existsSync, fsyncSync, openSync, readFileSync, truncateSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { createRandom } from '../../sandbox/data/random.ts';
import type { Accepted } from './receivers.ts';

/**
 * A program that changes are delivered to: it stores a message durably before it answers 200. Now and then it answers late, or 500 to what
 * it has not stored. Tells its parent when it listens, and of each message when it comes.
 */
const [file = '', port, secret = '', seed] = process.argv.slice(2);
const webhook = new Webhook(secret);
const random = createRandom(Number(seed));

// A line that was cut off by a kill was not answered.
if (existsSync(file)) truncateSync(file, readFileSync(file).lastIndexOf('\n') + 1);
const stored = openSync(file, 'a');

createServer(async (request, response) => {
  process.send?.('message');
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  if (random.chance(0.02)) return void response.writeHead(500).end();
  const body = Buffer.concat(parts).toString('utf8');
  const line: Accepted = { at: Date.now(), id: String(request.headers['webhook-id']), body, isSigned: isSigned(body) };
  appendFileSync(stored, `${JSON.stringify(line)}\n`);
  fsyncSync(stored);
  if (random.chance(0.2)) await delay(random.int(50, 1000));
  response.writeHead(200).end();

  function isSigned(body: string): boolean {
    try {
      webhook.verify(body, request.headers as Record<string, string>);
      return true;
    } catch {
      return false;
    }
  }
}).listen(Number(port), '127.0.0.1', () => process.send?.('listening'));
process.on('disconnect', () => process.exit());
