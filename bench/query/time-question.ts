import type { Transaction } from '../../src/warehouse/database/database.ts';
import { median } from '../support/median.ts';
import { mainNode } from './main-node.ts';
import type { Question } from './questions.ts';

export interface QuestionTime {
  readonly ms: number;
  readonly rows: number;
  readonly node: string;
}

/** Asks a question once to warm up and then `runs` times; the median until all rows have arrived. */
export async function timeQuestion(tx: Transaction, { sql, parameter }: Question, runs: number): Promise<QuestionTime> {
  const parameters = parameter === undefined ? [] : await firstRow(tx, parameter);
  const { rows } = await tx.query(sql, parameters);
  const times: number[] = [];
  for (let run = 0; run < runs; run++) {
    const started = performance.now();
    await tx.query(sql, parameters);
    times.push(performance.now() - started);
  }
  return { ms: median(times), rows: rows.length, node: (await mainNode(tx, sql, parameters)) ?? '' };
}

async function firstRow(tx: Transaction, sql: string): Promise<unknown[]> {
  const { rows } = await tx.query(sql);
  return Object.values(rows[0] ?? {});
}
