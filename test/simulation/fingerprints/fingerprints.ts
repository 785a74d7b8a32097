import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { openServer } from '../play/server.ts';
import { type Fingerprint, fingerprint } from './fingerprint.ts';

/**
 * `npm run fingerprints [-- --write] [--seeds 1,3] [--requests]`: plays fixed seeds one request at a time and
 * compares their requests and tables with `fingerprints.json`. A refactoring of the engine changes none of them.
 * `--write` stores the new fingerprints; `--requests` prints the requests.
 */
const { values } = parseArgs({
  options: {
    write: { type: 'boolean', default: false },
    seeds: { type: 'string' },
    requests: { type: 'boolean', default: false },
  },
});
const file = new URL('fingerprints.json', import.meta.url);
const known = JSON.parse(readFileSync(file, 'utf8')) as Fingerprint[];
const seeds = values.seeds ? values.seeds.split(',').map(Number) : known.map(({ seed }) => seed);
const found: Fingerprint[] = [];
const server = await openServer();
try {
  for (const seed of seeds) {
    const { lines, ...print } = await fingerprint(server, seed);
    found.push(print);
    if (values.requests) process.stdout.write(`${lines.join('\n')}\n`);
    const before = known.find(each => each.seed === seed);
    const same = before?.log === print.log && before.tables === print.tables;
    process.stdout.write(
      `seed ${seed}: ${same ? 'equal' : `${JSON.stringify(before)} became ${JSON.stringify(print)}`}\n`,
    );
    if (!same) process.exitCode = 1;
  }
} finally {
  await server.close();
}
if (values.write) {
  // As the formatter writes it.
  const lines = found.map(
    ({ seed, requests, log, tables }) =>
      `  { "seed": ${seed}, "requests": ${requests}, "log": "${log}", "tables": "${tables}" }`,
  );
  writeFileSync(file, `[\n${lines.join(',\n')}\n]\n`);
  process.exitCode = 0;
}
