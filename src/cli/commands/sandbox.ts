import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { SluiceError } from '../../errors.ts';
import type { Size } from '../../sandbox/data/data.ts';
import type { PlannedFault } from '../../sandbox/faults/choose-fault.ts';
import { parseFaultPlan, parseFaultRates } from '../../sandbox/parse/parse-faults.ts';
import { parseVariants } from '../../sandbox/parse/parse-variants.ts';
import { openSandbox } from '../../sandbox/sandbox.ts';
import { describeVariants } from '../../sandbox/variants/variants.ts';
import { type Cli, newCommand } from '../cli.ts';
import { wholeNumber } from '../cli-options.ts';

const EXAMPLE = `sluice sandbox --size medium --activity 30 --port 4010
sluice sandbox --variant order=shuffled,limit-max=1000
sluice sandbox --variants         what can be varied, and every fault by its name
sluice sandbox --faults json-500=0.05,hang=0.01
sluice sandbox --faults-script faults.txt
  # lines of: at-request fault [count] [path]
  10 json-500
  25 reset-body 3 /api/v2/invoices`;

/** The other lists are shorter by as much, and change as much less. */
const OTHERS_SHARE = 10;
const SIZES: readonly Size[] = ['small', 'medium', 'large', 'extreme'];

interface Options {
  seed: number;
  size: Size;
  activity: number;
  dailyReset?: boolean;
  rateLimit: number;
  latency: number;
  port: number;
  variant?: string[];
  variants?: boolean;
  faults?: string[];
  faultsScript?: string;
}

export function sandboxCommand(cli: Cli): Command {
  const most = 2 ** 31 - 1;
  return newCommand('sandbox', 'Run a local server that answers as the source does, with made-up data', EXAMPLE)
    .option('--seed <n>', 'which data; the same seed and size give the same', wholeNumber('--seed', 0, most), 1)
    .option('--size <size>', `how much data: ${SIZES.join(', ')}`, size, 'small')
    .option(
      '--activity <n>',
      'random changes a minute of customers, invoices and transactions, and a tenth as many of the other lists',
      wholeNumber('--activity', 0, 100_000),
      0,
    )
    .option('--daily-reset', 'take the data back to the start at midnight UTC, and forget webhooks')
    .option('--rate-limit <n>', 'requests an hour; 0 without limit', wholeNumber('--rate-limit', 0, most), 1000)
    .option('--latency <ms>', 'milliseconds that each answer takes', wholeNumber('--latency', 0, 60_000), 0)
    .option('--port <port>', 'port to listen on; 0 any free one', wholeNumber('--port', 0, 65_535), 0)
    .option('--variant <name=value,..>', 'behave differently at these points; may be repeated', collect)
    .option('--variants', 'list what can be varied')
    .option('--faults <name=probability,..>', 'what goes wrong at a request, and how often; may be repeated', collect)
    .option('--faults-script <file>', 'which requests go wrong, and how')
    .action(
      cli.action({ source: false }, async ({ terminal, signal, clock }, options: Options) => {
        if (options.variants) {
          terminal.show({ variants: describeVariants() }, describeVariants);
          return 0;
        }
        const { seed, rateLimit, port } = options;
        const variants = parseVariants((options.variant ?? []).join(','));
        const faults = parseFaultRates((options.faults ?? []).join(','));
        const faultPlan = options.faultsScript === undefined ? [] : await readScript(options.faultsScript);
        const sandbox = await openSandbox({
          seed,
          size: options.size,
          activityPerMinute: options.activity,
          otherActivityPerMinute: options.activity / OTHERS_SHARE,
          dailyReset: options.dailyReset ?? false,
          clock,
          rateLimit,
          latencyMs: options.latency,
          port,
          variants,
          faults,
          faultPlan,
        });
        try {
          const { url, apiKey } = sandbox;
          terminal.show({ url, apiKey, size: options.size, seed }, () =>
            [
              `The sandbox answers at ${terminal.colors.bold(url)} (key: ${apiKey}). Ctrl-C ends it.`,
              '',
              'To read it, in another terminal:',
              `  export SOURCE_URL=${url} SOURCE_API_KEY=${apiKey}`,
              '  npx sluice sync',
            ].join('\n'),
          );
          if (!signal.aborted) await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }));
        } finally {
          await sandbox.close();
        }
        return 0;
      }),
    );
}

function collect(text: string, all: string[] = []): string[] {
  return [...all, text];
}

async function readScript(file: string): Promise<PlannedFault[]> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new SluiceError('usage', `The script of faults ${file} cannot be read.`, {
      cause,
      next: 'Expected: a text file with lines of: at-request fault [count] [path]',
    });
  });
  return parseFaultPlan(text);
}

function size(text: string): Size {
  const found = SIZES.find(each => each === text);
  if (found) return found;
  throw new SluiceError('usage', `There is no size "${text}".`, { next: `Sizes: ${SIZES.join(', ')}.` });
}
