import { readdir } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { SECOND, systemClock } from '../../src/clock.ts';
import { explain, isKind, SluiceError } from '../../src/errors.ts';
import { hideSecrets } from '../../src/log.ts';
import { formatReport } from './format-report.ts';
import { type ProbeOptions, probe } from './probe.ts';

const HELP = `npm run --silent conformance -- --url https://books.example.com [--key KEY] [--auth bearer|query] [--json] [--write]

Determines how an installation behaves at the points that the API document leaves open, with at most 80 requests,
and whether Sluice handles that behaviour. It only reads, unless --write is given: then it also creates, changes and
deletes customers, and reports any that it could not delete. docs/conformance.md explains the points.

  --url    base address of the installation, without /api/v2
  --key    API key. Prefer SOURCE_API_KEY in the environment: other users of the machine can see --key in the list
           of processes, and npm without --silent prints the whole command
  --auth   how to send the key: bearer (a header, the default) or query
  --write  also write
  --json   print one JSON document instead of the table; npm without --silent prints lines of its own before it

Exit code: 0 Sluice handles everything found, 1 it does not or not all checks ran, 2 wrong usage.
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
  const values = readOptions();
  if (values.help) {
    stdout.write(HELP);
    return 0;
  }
  const apiKey = ownKey || (values.key ?? '');
  hide = hideSecrets([apiKey]);
  const { url = '', auth, write } = values;
  const stopping = new AbortController();
  // Created customers are deleted first; a second Ctrl-C ends the process at once.
  process.once('SIGINT', () => {
    stderr.write('Stopping after cleanup.\n');
    if (write) stderr.write('Press Ctrl-C again to stop at once; this may leave customers named "conformance ..".\n');
    stopping.abort();
  });
  const options: ProbeOptions = {
    url,
    apiKey,
    auth: auth === 'query' ? 'query' : 'bearer',
    write,
    clock: systemClock,
    timeoutMs: 30 * SECOND,
    jobs: await readJobNames(),
    signal: stopping.signal,
  };
  const report = await probe(options);
  const origin = new URL(url).origin;
  const text = values.json ? JSON.stringify({ origin, ...report }, null, 2) : formatReport(report, origin);
  stdout.write(`${hide(text)}\n`);
  return report.ok ? 0 : 1;
}

function readOptions() {
  const values = parse();
  const usageError = (problem: string) => new SluiceError('usage', problem, { next: NEXT });
  if (values.help) return values;
  if (values.url === undefined) throw usageError('--url is missing.');
  if (!URL.canParse(values.url))
    throw usageError(`Invalid --url ${values.url}; expected an address such as https://books.example.com.`);
  if (!values.key && !ownKey) throw usageError('The key is missing: neither --key nor SOURCE_API_KEY is set.');
  // Choosing one of them could send a key to the wrong installation.
  if (values.key && ownKey && values.key !== ownKey)
    throw usageError('--key and SOURCE_API_KEY are different keys. Set SOURCE_API_KEY to the intended one.');
  if (!['bearer', 'query'].includes(values.auth))
    throw usageError(`Invalid --auth ${values.auth}; expected bearer or query.`);
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

/** Each file in jobs/ is a resource. */
async function readJobNames(): Promise<string[]> {
  const files = await readdir(new URL('../../jobs', import.meta.url));
  return files.filter(file => file.endsWith('.ts')).map(file => file.slice(0, -3));
}
