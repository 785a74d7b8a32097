import { dateOf, dayOf } from '../../sandbox/data/calendar.ts';
import type { Counts } from '../../sandbox/data/data.ts';
import type { Random } from '../../sandbox/data/random.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/clock.ts';
import type { List } from '../freshness/parameters.ts';
import { COMPARED, type Values } from './row-history.ts';

/** A query that somebody may ask, and which rows it is about. */
export interface Question {
  readonly kind: 'record' | 'customer' | 'join' | 'week' | 'month' | 'list';
  readonly list: List;
  readonly sql: string;
  readonly isAbout: (values: Values) => boolean;
  readonly maxAgeMs: number;
}

export const KINDS: readonly (readonly [Question['kind'], number])[] = [
  ['record', 3],
  ['customer', 3],
  ['join', 1],
  ['week', 1],
  ['month', 2],
  ['list', 0.5],
];
const AGES = [0, 0, 10 * SECOND, MINUTE, 10 * MINUTE, HOUR];
const MONTHS = 24;

/** Draws questions about a source of these counts, as of `today` (YYYY-MM-DD). Some ids no longer exist. */
export function drawQuestion(random: Random, counts: Counts, today: string): Question {
  const kind = drawKind(random);
  const maxAgeMs = random.pick(AGES);
  const list = drawList(random, kind);
  const about = conditionOf(random, kind, list, counts, today);
  const columns = COMPARED[list].map(name => `i.${name}${name === 'id' || name === 'date' ? '::text' : ''}`).join(', ');
  const from = kind === 'join' ? 'customers c join invoices i on i.customer_id = c.id' : `${list} i`;
  const sql = `select ${columns} from ${from}${about.where === null ? '' : ` where ${about.where}`}`;
  return { kind, list, sql, isAbout: about.isAbout, maxAgeMs };
}

function drawKind(random: Random): Question['kind'] {
  let left = random.next() * KINDS.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [kind, weight] of KINDS) {
    left -= weight;
    if (left < 0) return kind;
  }
  return 'record';
}

function drawList(random: Random, kind: Question['kind']): List {
  if (kind === 'customer' || kind === 'join') return 'invoices';
  if (kind === 'week' || kind === 'month') return random.pick(['invoices', 'transactions'] as const);
  return random.pick(['customers', 'invoices', 'transactions'] as const);
}

interface Condition {
  readonly where: string | null;
  readonly isAbout: Question['isAbout'];
}

function conditionOf(random: Random, kind: Question['kind'], list: List, counts: Counts, today: string): Condition {
  const value = (values: Values, name: string) => values[COMPARED[list].indexOf(name)] ?? '';
  const equal = (column: string, shown: string, wanted: number): Condition => ({
    where: `${shown} = ${wanted}`,
    isAbout: values => value(values, column) === String(wanted),
  });
  switch (kind) {
    case 'record':
      return equal('id', 'i.id', random.int(1, counts[list]));
    case 'customer':
      return equal('customer_id', 'i.customer_id', random.int(1, counts.customers));
    case 'join':
      return equal('customer_id', 'c.id', random.int(1, counts.customers));
    case 'week':
    case 'month': {
      const [from, to] = kind === 'week' ? drawWeek(random, today) : drawMonth(random, today);
      const isAbout = (values: Values) => value(values, 'date') >= from && value(values, 'date') < to;
      return { where: `i.date >= '${from}' and i.date < '${to}'`, isAbout };
    }
    case 'list':
      return { where: null, isAbout: () => true };
  }
}

function drawWeek(random: Random, today: string): [string, string] {
  const first = dayOf(today) - random.int(0, MONTHS * 30);
  return [dateOf(first), dateOf(first + 7)];
}

function drawMonth(random: Random, today: string): [string, string] {
  const back = random.int(0, MONTHS - 1);
  const at = new Date(dayOf(today) * DAY);
  const month = (offset: number) =>
    new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - back + offset, 1)).toISOString().slice(0, 10);
  return [month(0), month(1)];
}
