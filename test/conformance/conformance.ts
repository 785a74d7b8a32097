import { readdir } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { SECOND, systemClock } from '../../src/clock.ts';
import { explain, isKind, SluiceError } from '../../src/errors.ts';
import { hideSecrets } from '../../src/log.ts';
import { showReport } from './format-report.ts';
import { type ProbeOptions, probe } from './probe.ts';

const HELP = `npm run --silent conformance -- --url https://books.example.com [--key KEY] [--auth bearer|query] [--json] [--write]

Asks an installation, by at most 60 requests, how it behaves at the points that the API's document leaves open,
and says whether Sluice handles that. It only reads, unless --write is given: then it also creates, changes and
deletes a customer, and says what it could not remove. docs/conformance.md explains the points.

  --url    the installation's base address, without /api/v2
  --key    its API key; better given as SOURCE_API_KEY in the environment: the list of processes shows --key to
           other users of the machine, and npm without --silent prints the whole command above the report
  --auth   how the key is sent: bearer (a header, the default) or query
  --write  also write
  --json   one JSON document instead of the table; npm without --silent prints lines of its own before it

Exit code: 0 all that was seen is handled, 1 something is not or not all could be asked, 2 wrong usage.
`;

const NEXT = 'npm run --silent conformance -- --help';
const { stdout, stderr } = process;
const ownKey = process.env.SOURCE_API_KEY ?? '';
let hide = hideSecrets([ownKey]);

try {
  process.exitCode = await run();
} catch (error) {
  stderr.write(`${hide(explain(error))}\n`);
  process.exitCode = isKind(error, 'usage', 'configuration') ? 2 : 1;
}

async function run(): Promise<number> {
  const values = read();
  if (values.help) {
    stdout.write(HELP);
    return 0;
  }
  const apiKey = ownKey || (values.key ?? '');
  hide = hideSecrets([apiKey]);
  const { url = '', auth, write } = values;
  const stopping = new AbortController();
  // What was created is deleted first; the second Ctrl-C ends the process at once.
  process.once('SIGINT', () => {
    stderr.write('Stopping as soon as what was begun is undone.\n');
    if (write) stderr.write('Ctrl-C once more ends it at once, and may leave customers named "conformance ..".\n');
    stopping.abort();
  });
  const options: ProbeOptions = {
    url,
    apiKey,
    auth: auth === 'query' ? 'query' : 'bearer',
    write,
    clock: systemClock,
    timeoutMs: 30 * SECOND,
    jobs: await readJobs(),
    signal: stopping.signal,
  };
  const report = await probe(options);
  const origin = new URL(url).origin;
  const text = values.json ? JSON.stringify({ origin, ...report }, null, 2) : showReport(report, origin);
  stdout.write(`${hide(text)}\n`);
  return report.ok ? 0 : 1;
}

function read() {
  const values = parse();
  const wrong = (problem: string) => new SluiceError('usage', problem, { next: NEXT });
  if (values.help) return values;
  if (values.url === undefined) throw wrong('--url is missing: which installation is to be asked?');
  if (!URL.canParse(values.url)) throw wrong(`--url ${values.url} is no address such as https://books.example.com.`);
  if (!values.key && !ownKey) throw wrong('There is no key: neither --key nor SOURCE_API_KEY is set.');
  // Neither is taken for the other: a key must not go to another installation than its own.
  if (values.key && ownKey && values.key !== ownKey)
    throw wrong('--key and SOURCE_API_KEY are two different keys. Give the one that is meant as SOURCE_API_KEY.');
  if (!['bearer', 'query'].includes(values.auth)) throw wrong(`--auth ${values.auth} is none of bearer, query.`);
  return values;
}

function parse() {
  try {
    return parseArgs({
      options: {
        url: { type: 'string' },
        key: { type: 'string' },
        auth: { type: 'string', default: 'bearer' },
        write: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new SluiceError('usage', (error as Error).message, { next: NEXT, cause: error });
  }
}

/** A resource is a file in jobs/. */
async function readJobs(): Promise<string[]> {
  const files = await readdir(new URL('../../jobs', import.meta.url));
  return files.filter(file => file.endsWith('.ts')).map(file => file.slice(0, -3));
}
