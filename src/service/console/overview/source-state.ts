import { type Condition, conditionOf, type JudgedSource } from '../../status/condition.ts';
import type { State } from '../parts/state.ts';

const STATES: Readonly<Record<Condition, State>> = {
  unreadable: { icon: 'bad', tone: 'bad', text: 'cannot be read' },
  trouble: { icon: 'bad', tone: 'bad', text: 'trouble' },
  waiting: { icon: 'wait', tone: '', text: 'waiting' },
  'first sync': { icon: 'busy', tone: 'busy', text: 'first sync' },
  idle: { icon: 'off', tone: '', text: 'no tick yet' },
  'order running': { icon: 'busy', tone: 'busy', text: 'order running' },
  'up to date': { icon: 'ok', tone: 'good', text: 'up to date' },
};

export const stateOf = (facts: JudgedSource): State => STATES[conditionOf(facts)];
