import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createRandom, mix } from '../../sandbox/data/random.ts';
import { parseVariants } from '../../sandbox/parse/parse-variants.ts';
import { variantPoints } from '../../sandbox/variants/variant-points.ts';
import type { Variants } from '../../sandbox/variants/variants.ts';
import { SECOND } from '../../src/clock.ts';
import type { TestResource } from '../support/resources.ts';
import { alone, pairOf } from './plan/choose-variants.ts';
import { type Given, OTHERS, replay } from './plan/plan.ts';
import { runSeed } from './play/run-seed.ts';
import { openServer } from './play/server.ts';
import { REGRESSIONS } from './suite/regressions.ts';

/**
 * `npm run simulate -- --seeds 100 [--seed 1] [--variant paging=whole,..] [--faults drop] [--page-size 10] [--others products,users|all|none] [--at-once 2]
 * [--trace]`: plays the real engine against the sandbox and Postgres, with crashes, faults and changes that the seed decides.
 * `--seed 8,20,21`: these alone.
 * `--questions`: people ask for answers of now after every other action of every seed.
 * `--put-back`: the clock of the database is put back during every action.
 * `--bad-days`: the source answers wrongly during every action but the first.
 * `--lengths`: pages and cut-off lists have lengths that nobody expects.
 * `--declarations`: the source sends custom fields; which are declared or masked, and how, changes between actions and while a process reads.
 * `--changes 300`: so many changes come before every action but the first.
 * `--only`: no point varies but those of `--variant`. `--each`: every variant by itself, one seed each. `--pairs 200`: that many random
 * pairs of variants. `--regressions`: the seeds that once failed. A seed that fails leaves what happened in a file.
 */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    variant: { type: 'string' },
    faults: { type: 'string' },
    'page-size': { type: 'string' },
    others: { type: 'string' },
    'at-once': { type: 'string', default: '2' },
    only: { type: 'boolean', default: false },
    questions: { type: 'boolean', default: false },
    'put-back': { type: 'boolean', default: false },
    'bad-days': { type: 'boolean', default: false },
    lengths: { type: 'boolean', default: false },
    declarations: { type: 'boolean', default: false },
    changes: { type: 'string' },
    each: { type: 'boolean', default: false },
    pairs: { type: 'string' },
    regressions: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
  },
});

const given: Given = {
  ...(values.variant ? { variants: parseVariants(values.variant) } : {}),
  only: values.only,
  ...(values.questions ? { questions: true } : {}),
  ...(values['put-back'] ? { putBack: true } : {}),
  ...(values['bad-days'] ? { badDays: true } : {}),
  ...(values.lengths ? { lengths: true } : {}),
  ...(values.declarations ? { declarations: true } : {}),
  ...(values.changes ? { changes: Number(values.changes) } : {}),
  ...(values['page-size'] ? { pageSize: values['page-size'] === 'auto' ? 'auto' : Number(values['page-size']) } : {}),
  ...(values.others ? { others: othersOf(values.others) } : {}),
  ...(values.faults ? { faults: faultOf(values.faults) } : {}),
};
const seeds = values.seed.split(',').map(Number);
const [first = 1] = seeds;
const plays: { seed: number; given: Given }[] = playsOf();
const begun = performance.now();
const failed: number[] = [];
let next = 0;
let requests = 0;
let crashes = 0;
let dated = 0;
let slowest = 0;
let told = begun;

const server = await openServer();
try {
  await Promise.all(Array.from({ length: Math.max(Number(values['at-once']), 1) }, playSeeds));
} finally {
  await server.close();
}
const seconds = (performance.now() - begun) / SECOND;
const count = plays.length;
process.stdout.write(
  `${count - failed.length} of ${count} seeds green in ${seconds.toFixed(0)} s (${(seconds / count).toFixed(2)} s a seed, the slowest ${(slowest / SECOND).toFixed(1)} s), ` +
    `${requests} requests, ${crashes} processes that ended early, ${dated} changes of which the moment was compared\n`,
);
if (failed.length > 0) {
  process.stdout.write(`Failed: ${failed.join(' ')}\n`);
  process.exitCode = 1;
}

function playsOf(): { seed: number; given: Given }[] {
  if (values.regressions) return REGRESSIONS.map(({ seed, given: its }) => ({ seed, given: its }));
  const sets = values.each
    ? alone()
    : values.pairs
      ? Array.from({ length: Number(values.pairs) }, (_, index) => pairOf(createRandom(mix(first + index, 0x9a12))))
      : null;
  if (sets) return sets.map((variants, index) => ({ seed: first + index, given: { ...given, variants, only: true } }));
  if (seeds.length > 1) return seeds.map(seed => ({ seed, given }));
  return Array.from({ length: Number(values.seeds) }, (_, index) => ({ seed: first + index, given }));
}

async function playSeeds(): Promise<void> {
  for (let play = plays[next++]; play; play = plays[next++]) {
    const { seed } = play;
    const lines: string[] = [];
    const result = await runSeed(server, seed, play.given, text => lines.push(text));
    requests += result.requests;
    crashes += result.crashes;
    dated += result.dated;
    slowest = Math.max(slowest, result.ms);
    tellProgress();
    const trace = `${JSON.stringify(result.plan, null, 1)}\n${lines.join('\n')}\n`;
    if (values.trace) process.stdout.write(trace);
    if (result.problems.length === 0) continue;
    failed.push(seed);
    // Another play may not fail: what happens at the same time differs.
    const file = join(tmpdir(), `simulation-${seed}-${process.pid}.trace`);
    writeFileSync(file, trace);
    process.stdout.write(`seed ${seed}: ${replay(seed, play.given)}\n  ${JSON.stringify(result.plan.played)}\n`);
    process.stdout.write(`  what happened: ${file}\n`);
    for (const problem of result.problems.slice(0, 12)) process.stdout.write(`  ${problem.replaceAll('\n', '\n  ')}\n`);
  }
}

function tellProgress(): void {
  const now = performance.now();
  if (now - told < 15 * SECOND) return;
  told = now;
  const minutes = ((now - begun) / (60 * SECOND)).toFixed(1);
  process.stderr.write(`${next} of ${plays.length} seeds started after ${minutes} min, ${failed.length} failed\n`);
}

function faultOf(text: string): Variants['fault'] {
  if (text in variantPoints.fault.values) return text as Variants['fault'];
  throw new Error(`There is no fault "${text}". Faults: ${Object.keys(variantPoints.fault.values).join(', ')}.`);
}

function othersOf(text: string): TestResource[] {
  if (text === 'none') return [];
  const names = text === 'all' ? OTHERS : text.split(',');
  const unknown = names.filter(name => !OTHERS.some(each => each === name));
  if (unknown.length > 0) throw new Error(`There is no list "${unknown.join()}". Lists: ${OTHERS.join(', ')}.`);
  return names as TestResource[];
}
