// Measures how long a change at the source takes to reach a copy of it, for several ways to spend 1000 requests an hour.
//   npx tsx bench/freshness.ts [medium|large|extreme|all] [--days 14] [--seed 1] [--habits] [--json]
// On paper (time is a number, no HTTP, no database): an even sweep, a 30-day look-back, and the best static policy for known
// rates. With --habits the source changes its habits over eight days.
import { parseArgs } from 'node:util';
import { DAY } from '../src/clock.ts';
import { SluiceError } from '../src/errors.ts';
import { HABITS } from './freshness/habits.ts';
import { measure, planOf } from './freshness/measure.ts';
import { SIZES, type SizeName, STREAM } from './freshness/parameters.ts';
import { describeMeasurement, describeParameters, describeStream, linesOf } from './freshness/report.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    days: { type: 'string', default: '14' },
    seed: { type: 'string', default: '1' },
    habits: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
const days = values.habits ? Math.max(...HABITS.map(({ toMs }) => toMs)) / DAY : Number(values.days);
if (!(days > 0) || !Number.isInteger(seed))
  throw new SluiceError('usage', 'Expected a number of days and a whole seed.');

if (!values.json) console.log(`Parameters\n${describeParameters(STREAM)}\n`);
for (const size of sizesOf(positionals[0] ?? 'medium')) {
  const plan = planOf(size, { days, seed, ...(values.habits ? { phases: HABITS } : {}) });
  const measurement = measure(plan);
  if (values.json) console.log(JSON.stringify(documentOf(measurement)));
  else console.log(`${describeStream(size, STREAM)}\n${describeMeasurement(measurement)}\n`);
}

function sizesOf(name: string): SizeName[] {
  const all = Object.keys(SIZES) as SizeName[];
  const sizes = all.filter(size => name === 'all' || name === size);
  if (sizes.length === 0) throw new SluiceError('usage', `Unknown size "${name}"; expected ${all.join(', ')} or all.`);
  return sizes;
}

function documentOf(measurement: ReturnType<typeof measure>) {
  const { size, optimum, measured } = measurement;
  const policies = measured.map(each => ({
    policy: each.policy,
    requestsPerHour: each.result.requests / (days * 24),
    delayHours: linesOf(measurement, each).map(({ of, figures, ratio }) => ({ of, ...figures, ratio })),
  }));
  return { size, days, seed, parameters: STREAM, optimumByFormula: optimum, policies };
}
