import { type Command, Option } from 'commander';
import type { Size } from '../../../sandbox/data/data.ts';
import type { PlannedFault } from '../../../sandbox/faults/choose-fault.ts';
import { parseFaultPlan, parseFaultRates } from '../../../sandbox/parse/parse-faults.ts';
import { parseVariants } from '../../../sandbox/parse/parse-variants.ts';
import { openSandbox, SANDBOX_KEY } from '../../../sandbox/sandbox.ts';
import { describeVariants } from '../../../sandbox/variants/variants.ts';
import { SluiceError } from '../../errors.ts';
import { shellWord } from '../../next-steps.ts';
import { readNamed } from '../session/read-named.ts';
import { type Cli, newCommand, parseWholeNumber, pathFrom, type Session, untilAborted } from '../session/session.ts';

const EXAMPLES = `sluice sandbox --size medium --activity 30 --port 4010
sluice sandbox --variant order=shuffled,limit-max=1000
sluice sandbox --variants         list all variants and faults
sluice sandbox --faults json-500=0.05,hang=0.01
sluice sandbox --faults-script faults.txt
  # lines of: at-request fault [count] [path]
  10 json-500
  25 reset-body 3 /api/v2/invoices`;

/** The other lists are a tenth as long, and change a tenth as often. */
const OTHERS_SHARE = 10;
const SIZES: readonly Size[] = ['small', 'medium', 'large', 'extreme'];

interface Options extends Record<'seed' | 'activity' | 'rateLimit' | 'latency' | 'port', number> {
  readonly size: Size;
  readonly dailyReset?: boolean;
  readonly key: string;
  readonly variant?: string[];
  readonly variants?: boolean;
  readonly faults?: string[];
  readonly faultsScript?: string;
}

export function command(cli: Cli): Command {
  const most = 2 ** 31 - 1;
  return newCommand('sandbox', EXAMPLES)
    .option('--seed <n>', 'equal seeds and sizes give equal data', parseWholeNumber('--seed', 0, most), 1)
    .addOption(new Option('--size <size>', 'amount of data').choices(SIZES).default('small'))
    .option(
      '--activity <n>',
      'random changes per minute to customers, invoices and transactions; the other lists get a tenth as many',
      parseWholeNumber('--activity', 0, 100_000),
      0,
    )
    .option('--daily-reset', 'at midnight UTC, restore the initial data and forget webhooks')
    .option('--rate-limit <n>', 'requests per hour; 0 for no limit', parseWholeNumber('--rate-limit', 0, most), 1000)
    .option('--latency <ms>', 'delay of each answer in milliseconds', parseWholeNumber('--latency', 0, 60_000), 0)
    .option('--port <port>', 'port to listen on; 0 for any free port', parseWholeNumber('--port', 0, 65_535), 0)
    .option('--key <key>', 'the API key that it accepts', parseKey, SANDBOX_KEY)
    .option('--variant <name=value,..>', 'vary the behaviour; repeatable', collect)
    .option('--variants', 'list all variants and faults')
    .option('--faults <name=probability,..>', 'faults and their probability per request; repeatable', collect)
    .option('--faults-script <file>', 'a file that says which requests fail, and how')
    .action(cli.action({ source: false }, runSandbox));
}

async function runSandbox(session: Session, options: Options): Promise<0> {
  const { terminal, signal, clock } = session;
  if (options.variants) {
    terminal.show({ variants: describeVariants() }, describeVariants);
    return 0;
  }
  const { seed, size, rateLimit, port, activity, latency, dailyReset = false } = options;
  const sandbox = await openSandbox({
    ...{ seed, size, clock, rateLimit, port, dailyReset },
    activityPerMinute: activity,
    otherActivityPerMinute: activity / OTHERS_SHARE,
    latencyMs: latency,
    apiKey: options.key,
    variants: parseVariants((options.variant ?? []).join(',')),
    faults: parseFaultRates((options.faults ?? []).join(',')),
    faultPlan: options.faultsScript === undefined ? [] : readScript(pathFrom(session, options.faultsScript)),
  });
  try {
    const { url, apiKey } = sandbox;
    terminal.show({ url, apiKey, size, seed }, () =>
      [
        `The sandbox listens at ${terminal.colors.bold(url)} (API key: ${apiKey}). Press Ctrl-C to stop it.`,
        '',
        'To read from it, run in another terminal:',
        `  export SOURCE_URL=${url} SOURCE_API_KEY=${shellWord(apiKey)}`,
        '  npx sluice sync',
      ].join('\n'),
    );
    await untilAborted(signal);
  } finally {
    await sandbox.close();
  }
  return 0;
}

const collect = (text: string, all: string[] = []): string[] => [...all, text];

const readScript = (path: string): PlannedFault[] =>
  parseFaultPlan(readNamed(path, 'a text file with lines of: at-request fault [count] [path]'));

/** What SOURCE_API_KEY accepts. */
function parseKey(text: string): string {
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new SluiceError('usage', '--key is not valid.', {
    next: 'Expected: letters, digits and signs, without spaces.',
  });
}
