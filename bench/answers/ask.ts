import type { Question } from './questions.ts';
import type { Values } from './row-history.ts';

/** What became of a question. Times in epoch ms. */
export interface Asked {
  readonly question: Question;
  readonly from: number;
  readonly to: number;
  /** `refused`: it would cost more than is allowed. `limited`: the request limit does not pay for it in time. */
  readonly outcome: 'answered' | 'refused' | 'limited' | 'failed';
  /** Of an answer: its rows, the moment that it claims, and the requests that it took. */
  readonly rows: readonly Values[];
  readonly asOf: number | null;
  readonly requests: number;
  readonly error: string | null;
}

interface Answer {
  readonly rows: Values[];
  readonly asOf: string | null;
  readonly requests: number;
}

const REFUSED = 'None was sent.';
const MOST_ROWS = 100_000;

/** Asks by `POST /query`. */
export async function ask(url: string, token: string, question: Question): Promise<Asked> {
  const from = Date.now();
  const response = await fetch(`${url}/query`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ sql: question.sql, rows: MOST_ROWS, maxAge: `${question.maxAgeMs / 1000}s` }),
  });
  const body = (await response.json()) as Answer | { error: string };
  const to = Date.now();
  if ('error' in body) {
    const outcome = response.status === 429 ? 'limited' : body.error.includes(REFUSED) ? 'refused' : 'failed';
    return { question, from, to, outcome, rows: [], asOf: null, requests: 0, error: body.error };
  }
  const { rows, requests } = body;
  const asOf = body.asOf === null ? null : Date.parse(body.asOf);
  return { question, from, to, outcome: 'answered', rows, asOf, requests, error: null };
}
