// Measures how long a change at the source takes to reach a copy of it, for several ways to spend 1000 requests an hour.
//   npx tsx bench/freshness.ts [medium|large|extreme|all] [--days 14] [--warm-up 1] [--times 1] [--seed 1]
//     [--habits [--habit-hours 24]] [--product | --service] [--json]
// On paper (time is a number, no HTTP, no database): an even sweep, a 30-day look-back, and the best static policy for known
// rates. --times: so many times as many changes. --habits: the source changes its habits over eight days, or shorter ones
// (--habit-hours). --product: also Sluice itself on the same stream, on an injected clock; a virtual hour takes 15 s of CPU,
// so --days 0.2 --warm-up 0.1 --times 20 is a good start. --service: also `sluice start` in a process of its own with a real
// clock, where hours pass 15 times faster (--days 0.125 --warm-up 0.05 --times 20 takes about 25 minutes). Needs
// `npm run build`.
import { parseArgs } from 'node:util';
import { DAY, HOUR } from '../src/clock.ts';
import { SluiceError } from '../src/errors.ts';
import { measure, planOf } from './freshness/measure.ts';
import { SIZES, type SizeName, STREAM } from './freshness/parameters.ts';
import { measureProduct } from './freshness/product.ts';
import { describeMeasurement, describeParameters, describeStream, linesOf, type Measured } from './freshness/report.ts';
import { measureService } from './freshness/service.ts';
import { habits } from './freshness/stream/habits.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    days: { type: 'string', default: '14' },
    'warm-up': { type: 'string', default: '1' },
    times: { type: 'string', default: '1' },
    product: { type: 'boolean', default: false },
    service: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    habits: { type: 'boolean', default: false },
    'habit-hours': { type: 'string', default: '24' },
    json: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
const times = Number(values.times);
const warmUpDays = Number(values['warm-up']);
const phases = values.habits ? habits(Number(values['habit-hours']) * HOUR) : undefined;
const days = phases ? Math.max(...phases.map(({ toMs }) => toMs)) / DAY : Number(values.days);
if (!(days > 0 && warmUpDays > 0 && times > 0 && Number.isInteger(seed)))
  throw new SluiceError('usage', 'Expected days, warm-up and times above 0, and a whole seed.');
const sizes = sizesOf(positionals[0] ?? 'medium');
const parameters = { ...STREAM, times };
/** Deletions wait longest. A virtual day of the product takes minutes. */
const afterMs = values.product ? 4 * HOUR : values.service ? 2 * HOUR : DAY;

if (!values.json) console.log(`Parameters\n${describeParameters(parameters)}\n`);
for (const size of sizes) {
  const plan = planOf(size, {
    days,
    warmUpDays,
    afterMs,
    seed,
    times,
    ...(phases ? { phases } : {}),
    // What is young for the service depends on the real date.
    ...(values.service ? { startMs: Math.floor(Date.now() / HOUR) * HOUR } : {}),
  });
  const others: Measured[] = [];
  if (values.product) others.push(await measureProduct(plan, tellHour));
  if (values.service) others.push(await measureService(plan, tellHour));
  const measurement = measure(plan, others);
  if (values.json) console.log(JSON.stringify(documentOf(measurement)));
  else console.log(`${describeStream(size, parameters)}\n${describeMeasurement(measurement)}\n`);
}

function tellHour(hour: number): void {
  process.stderr.write(`hour ${hour}, ${Math.round(performance.now() / 1000)} s\n`);
}

function sizesOf(name: string): SizeName[] {
  const all = Object.keys(SIZES) as SizeName[];
  const named = all.filter(size => name === 'all' || name === size);
  if (named.length === 0) throw new SluiceError('usage', `Unknown size "${name}"; expected ${all.join(', ')} or all.`);
  return named;
}

function documentOf(measurement: ReturnType<typeof measure>) {
  const { size, optimum, measured } = measurement;
  const policies = measured.map(each => ({
    policy: each.policy,
    requestsPerHour: each.result.requests / (days * 24),
    delayHours: linesOf(measurement, each).map(({ of, figures, ratio }) => ({ of, ...figures, ratio })),
  }));
  return { size, days, seed, parameters, optimumByFormula: optimum, policies };
}
