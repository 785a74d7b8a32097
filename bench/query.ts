// Measures ten questions that people ask the warehouse, by the size of the source, with the node of the plan that takes longest.
//   npm run build && npx tsx bench/query.ts [--sizes large,extreme] [--runs 5] [--json]
// Sizes: small, medium, large, extreme. The warehouse is filled by a first load and analyzed. Each figure is the median of
// `--runs` after one to warm up. Slow is more than 50 ms, or 500 ms at extreme; exit code 1 if a question is slow.
import { parseArgs } from 'node:util';
import { type Size, sizes } from '../sandbox/data/data.ts';
import { QUESTIONS } from './query/questions.ts';
import { type QuestionTime, timeQuestion } from './query/time-question.ts';
import { openPostgres } from './support/open-postgres.ts';
import { openSource } from './support/open-source.ts';
import { figure, print, progress } from './support/print.ts';
import { environmentOf, runSluice } from './support/run-sluice.ts';

const { values: given } = parseArgs({
  options: {
    sizes: { type: 'string', default: 'large,extreme' },
    runs: { type: 'string', default: '5' },
    json: { type: 'boolean', default: false },
  },
});

const MOST_MS: Readonly<Record<Size, number>> = { small: 50, medium: 50, large: 50, extreme: 500 };

interface Line extends QuestionTime {
  readonly size: Size;
  readonly question: string;
  readonly isSlow: boolean;
}

const lines: Line[] = [];
for (const size of given.sizes.split(',').map(sizeOf)) lines.push(...(await measure(size)));
print({
  json: given.json,
  document: lines,
  head: ['size', 'question', 'rows', 'ms', '', 'main node of the plan'],
  rows: lines.map(({ size, question, rows, ms, isSlow, node }) => [
    size,
    question,
    figure(rows),
    figure(ms, 1),
    isSlow ? 'slow' : 'ok',
    node,
  ]),
});
if (lines.some(line => line.isSlow)) process.exitCode = 1;

async function measure(size: Size): Promise<Line[]> {
  const postgres = await openPostgres();
  try {
    await fill(size, postgres.url);
    const { database } = postgres;
    await database.query('vacuum analyze');
    progress(`${size}: the warehouse is filled`);
    // One connection for all questions, as a session of psql.
    return await database.transaction(async tx => {
      await tx.query('set local search_path to warehouse');
      const measured: Line[] = [];
      for (const question of QUESTIONS) {
        const time = await timeQuestion(tx, question, Number(given.runs));
        measured.push({ size, question: question.name, isSlow: time.ms > MOST_MS[size], ...time });
      }
      return measured;
    });
  } finally {
    await postgres.close();
  }
}

async function fill(size: Size, url: string): Promise<void> {
  const source = await openSource({ size, page: '1000' });
  try {
    const { exit } = await runSluice(['sync'], environmentOf(source, url));
    if (exit !== 0) throw new Error('The first load failed.');
  } finally {
    await source.close();
  }
}

function sizeOf(text: string): Size {
  if (Object.hasOwn(sizes, text)) return text as Size;
  throw new RangeError(`Unknown size "${text}".`);
}
