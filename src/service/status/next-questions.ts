import type { AgendaList } from '../../engine/agenda/list-facts.ts';
import { type AgendaFacts, goesBefore, type Question, questionsOf } from '../../engine/agenda/questions.ts';
import { foundAbsentAt, oldestProof } from '../../engine/coverage/list.ts';
import { sliceText } from '../../engine/slices/slice.ts';
import { questionText } from './slice-words.ts';

/** A question of the agenda as people and `--json` see it. */
export interface ShownQuestion {
  readonly resource: string;
  readonly question: string;
  readonly slice: string;
  readonly changesAnHour: number;
  readonly ageSeconds: number;
  readonly requests: number;
  readonly score: number;
  readonly overdue: boolean;
  readonly why: string;
}

export interface ShownAgenda {
  /** In the order in which they are asked, as far as known now. */
  readonly questions: readonly ShownQuestion[];
  /** How many follow those. */
  readonly more: number;
  /** Resources that were never read in full; the agenda does not list them. */
  readonly unread: readonly string[];
}

export function nextQuestions(facts: readonly (AgendaFacts & AgendaList)[], most: number): ShownAgenda {
  const questions = facts
    .flatMap(each => questionsOf(each).map(question => ({ ...question, resource: each.list.name })))
    .filter(({ score, overdue }) => overdue || score > 0)
    .sort((a, b) => (goesBefore(a, b) ? -1 : goesBefore(b, a) ? 1 : 0));
  return {
    questions: questions.slice(0, most).map(shown),
    more: Math.max(questions.length - most, 0),
    unread: facts.flatMap(({ list }) =>
      oldestProof(list) === null && foundAbsentAt(list) === null ? [list.name] : [],
    ),
  };
}

const shown = (question: Question & { resource: string }): ShownQuestion => ({
  resource: question.resource,
  question: questionText(question),
  slice: sliceText(question.choice.slice),
  changesAnHour: question.rate,
  // What is known to wait has an age of its own.
  ageSeconds: Math.round((question.age || (question.waiting?.hours ?? 0)) * 3600),
  requests: Math.round(question.requests * 10) / 10,
  score: question.score,
  overdue: question.overdue,
  why: question.overdue ? 'unread for too long' : question.why,
});
