// Asks a running service questions with a bound on their age while the source changes all the time, and compares each answer
// with the source's log of changes.
//   npx tsx bench/fresh-answers.ts [medium|large] [--queries 1000] [--at-once 4] [--latency 300] [--page 100|1000]
//     [--times 1000] [--window 60] [--seed 1] [--json]
// The source answers after --latency ms. It allows 1000 requests in --window seconds, so that many questions take little time.
// --times: so many times as many changes as in `bench/freshness.ts`. Needs `npm run build`. "read": answers for which something
// was read again; of these, how many took up to 3 requests, the most, the sum in pages that their rows fill, and their time.
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pLimit from 'p-limit';
import { dateOf } from '../sandbox/data/calendar.ts';
import { createRandom } from '../sandbox/data/random.ts';
import { openSandbox } from '../sandbox/sandbox.ts';
import { DAY, SECOND } from '../src/clock.ts';
import { SluiceError } from '../src/errors.ts';
import type { Database } from '../src/warehouse/database/database.ts';
import { type Asked, ask } from './answers/ask.ts';
import { judge } from './answers/judge.ts';
import { drawQuestion, KINDS } from './answers/questions.ts';
import { createRowHistory } from './answers/row-history.ts';
import { SIZES, STREAM } from './freshness/parameters.ts';
import { applyChange, fillSource } from './freshness/product/source-rows.ts';
import { createStream } from './freshness/stream/stream.ts';
import { openPostgres } from './support/open-postgres.ts';
import { pageSize } from './support/options.ts';
import { figure, print, progress } from './support/print.ts';
import { environmentOf, OTHERS_OFF, runSluice, startSluice } from './support/run-sluice.ts';

const { values: given, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    queries: { type: 'string', default: '1000' },
    'at-once': { type: 'string', default: '4' },
    latency: { type: 'string', default: '300' },
    page: { type: 'string', default: '100' },
    times: { type: 'string', default: '1000' },
    window: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const [size = 'medium'] = positionals;
if (size !== 'medium' && size !== 'large')
  throw new SluiceError('usage', `Unknown size "${size}"; expected medium or large.`);
const counts = SIZES[size];
const queries = Number(given.queries);
const seed = Number(given.seed);
const TOKEN = 'token-of-the-bench';
/** Requests in --window seconds. */
const LIMIT = 1000;
/** How often changes are made at the source. */
const STEP_MS = 50;
/** Of the log: warnings and errors. */
const WARN = 40;
/** What one question about a customer or a month may take at most. */
const FEW = 3;

const postgres = await openPostgres();
const sandbox = await openSandbox({
  size: { customers: 0, invoices: 0, transactions: 0 },
  rateLimit: LIMIT,
  rateWindowMs: Number(given.window) * SECOND,
  latencyMs: Number(given.latency),
  logRequests: 0,
  variants: { 'limit-max': pageSize(given.page) },
});
const stream = createStream({
  counts,
  seed,
  parameters: { ...STREAM, times: Number(given.times) },
  startMs: Date.now(),
});
fillSource(sandbox.data, stream);
const history = createRowHistory(sandbox.data);
const asked: Asked[] = [];
const problems: string[] = [];
let changes = 0;
try {
  const env = {
    ...environmentOf(sandbox, postgres.url),
    SOURCE_RATE_LIMIT: String(LIMIT),
    SOURCE_RATE_WINDOW_SECONDS: given.window,
    SLUICE_TOKEN: TOKEN,
    SLUICE_PORT: '0',
    ...OTHERS_OFF,
  };
  progress('The source is read.');
  await runSluice(['sync', 'customers', 'invoices', 'transactions'], env);
  await runSluice(['grant', new URL(postgres.readerUrl).username], env);
  await serve({ ...env, READER_DATABASE_URL: postgres.readerUrl });
  problems.push(...(await spentByRefusals(postgres.database)));
} finally {
  await sandbox.close();
  await postgres.close();
}
report();
process.exitCode = problems.length > 0 ? 1 : 0;

async function serve(env: NodeJS.ProcessEnv): Promise<void> {
  const service = startSluice(['start'], env);
  const changing = new AbortController();
  try {
    const url = await addressOf(service);
    const changed = changeAllTheTime(changing.signal);
    const inTurn = pLimit(Number(given['at-once']));
    const random = createRandom(seed);
    await Promise.all(
      Array.from({ length: queries }, () => {
        const question = drawQuestion(random, counts, dateOf(Math.floor(Date.now() / DAY)));
        return inTurn(async () => {
          const answer = await ask(url, TOKEN, question);
          asked.push(answer);
          const rows: Iterable<{ id: number }> = sandbox.data[question.list].rows();
          const ids = Array.from(rows, ({ id }) => id);
          if (answer.outcome === 'answered') problems.push(...judge(answer, history, ids));
          if (asked.length % 100 === 0)
            progress(`${asked.length} questions, ${changes} changes, ${problems.length} problems`);
        });
      }),
    );
    changing.abort();
    await changed;
  } finally {
    changing.abort();
    service.kill('SIGTERM');
    if (service.exitCode === null) await once(service, 'exit');
  }
}

/** Waits until the service says where it listens. */
function addressOf(service: ReturnType<typeof startSluice>): Promise<string> {
  service.stdout?.resume();
  const lines = createInterface({ input: service.stderr as NodeJS.ReadableStream });
  return new Promise((resolve, reject) => {
    service.once('exit', code => reject(new Error(`The service ended with exit code ${code}.`)));
    lines.on('line', line => {
      const said = line.startsWith('{') ? (JSON.parse(line) as { level: number; msg: string; url?: string }) : null;
      if (said?.msg === 'console' && said.url) resolve(said.url);
      if (said === null || said.level >= WARN) progress(line);
    });
  });
}

async function changeAllTheTime(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await delay(STEP_MS);
    for (const change of stream.advanceTo(Date.now())) {
      history.record(change.list, change.id, () => applyChange(sandbox.data, change));
      changes++;
    }
  }
}

/** Orders that only a refused question can have placed. */
async function spentByRefusals(database: Database): Promise<string[]> {
  const { rows } = await database.query<{ resource: string; at: number }>(
    `select resource, extract(epoch from created_at)::float8 * 1000 as at from sluice.orders where kind = 'refresh'`,
  );
  const others = asked.filter(({ outcome }) => outcome === 'answered' || outcome === 'failed');
  const alone = rows.filter(({ at }) => !others.some(({ from, to }) => at >= from && at <= to));
  return alone.map(({ resource }) => `a refused question had ${resource} read`);
}

function report(): void {
  const kinds = KINDS.map(([kind]) => {
    const ofKind = asked.filter(({ question }) => question.kind === kind);
    const count = (outcome: Asked['outcome']) => ofKind.filter(each => each.outcome === outcome).length;
    const again = ofKind.filter(({ outcome, requests }) => outcome === 'answered' && requests > 0);
    const times = again.map(({ from, to }) => to - from).sort((a, b) => a - b);
    const sum = (of: (each: Asked) => number) => again.reduce((total, each) => total + of(each), 0);
    return {
      kind,
      asked: ofKind.length,
      answered: count('answered'),
      refused: count('refused'),
      limited: count('limited'),
      failed: count('failed'),
      readAgain: again.length,
      fewRequests: again.filter(({ requests }) => requests <= FEW).length / again.length,
      mostRequests: Math.max(...again.map(({ requests }) => requests)),
      // Compared with the pages that the rows of the answers fill.
      timesLeast:
        sum(({ requests }) => requests) / sum(({ rows }) => Math.max(Math.ceil(rows.length / Number(given.page)), 1)),
      medianMs: times[Math.floor(times.length / 2)] ?? Number.NaN,
      ms95: times[Math.floor(times.length * 0.95)] ?? Number.NaN,
    };
  });
  const { rejected, maxInWindow, total } = sandbox.stats;
  print({
    json: given.json,
    document: { kinds, changes, requests: { total, rejected, maxInWindow }, problems },
    head: 'question,asked,answered,refused,limit,failed,read,to 3,most,x least,median,95%'.split(','),
    rows: kinds.map(each => [
      each.kind,
      ...[each.asked, each.answered, each.refused, each.limited, each.failed, each.readAgain].map(n => figure(n)),
      `${figure(100 * each.fewRequests)}%`,
      figure(each.mostRequests),
      figure(each.timesLeast, 2),
      `${figure(each.medianMs / SECOND, 1)} s`,
      `${figure(each.ms95 / SECOND, 1)} s`,
    ]),
  });
  if (given.json) return;
  for (const each of asked.filter(({ outcome }) => outcome === 'failed').slice(0, 5))
    console.log(`failed: ${each.question.sql}\n  ${each.error}`);
  console.log(
    `${figure(changes)} changes; ${figure(total)} requests, ${rejected} beyond the limit, at most ${maxInWindow} in one window of ${LIMIT}`,
  );
  console.log(`${problems.length} wrong answers${problems.length > 0 ? `:\n${problems.slice(0, 20).join('\n')}` : ''}`);
}
