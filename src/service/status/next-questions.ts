import type { AgendaList } from '../../engine/agenda/list-facts.ts';
import { type AgendaFacts, goesBefore, type Question, questionsOf } from '../../engine/agenda/questions.ts';
import { foundAbsentAt, oldestProof } from '../../engine/coverage/list.ts';
import { sliceText } from '../../engine/slices/slice.ts';
import { sliceWords } from '../format.ts';

/** The first `most` questions of a source, in the order in which they are asked, as far as known now. */
export function nextQuestions(facts: readonly (AgendaFacts & AgendaList)[], most: number) {
  const questions = facts
    .flatMap(each => questionsOf(each).map(question => ({ ...question, resource: each.list.name })))
    .filter(({ score, overdue }) => overdue || score > 0)
    .sort((a, b) => (goesBefore(a, b) ? -1 : goesBefore(b, a) ? 1 : 0));
  return {
    questions: questions.slice(0, most).map(shown),
    /** How many follow those. */
    more: Math.max(questions.length - most, 0),
    /** Resources that were never read in full; the agenda does not list them. */
    unread: facts.flatMap(({ list }) =>
      oldestProof(list) === null && foundAbsentAt(list) === null ? [list.name] : [],
    ),
  };
}

export type ShownAgenda = ReturnType<typeof nextQuestions>;

/** As people and `--json` see it. */
const shown = ({ choice: { slice, asks }, ...question }: Question & { resource: string }) => ({
  resource: question.resource,
  question: typeof asks === 'object' ? `row ${asks.row}` : sliceWords(slice),
  slice: sliceText(slice),
  changesAnHour: question.rate,
  // What is known to wait has an age of its own.
  ageSeconds: Math.round((question.age || (question.waiting?.hours ?? 0)) * 3600),
  requests: Math.round(question.requests * 10) / 10,
  score: question.score,
  overdue: question.overdue,
  why: question.overdue ? 'unread for too long' : question.why,
});
