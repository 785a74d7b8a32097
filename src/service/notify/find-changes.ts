import { parsePattern, type Receiver } from '../../receivers.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { changesQuery, firstThatFit } from '../../warehouse/reports/changes.ts';
import { runBounded } from '../query/bounded-query.ts';
import { LIMITS } from './compose-message.ts';
import type { Found } from './take-batch.ts';

/** What a chat shows of one change. */
const LONGEST_LINE = 600;

type Wanted = Pick<Receiver, 'on' | 'where' | 'form'>;

/**
 * Those of the changes `from` .. `to` that a receiver wants, at most one message and always the change after it. They are read by the login that may
 * only read, within 10 seconds: kind `failed` where its condition is wrong or takes longer.
 */
export async function findChanges(
  reader: Database,
  receiver: Wanted,
  between: { readonly schema: string; readonly from: number; readonly to: number; readonly signal: AbortSignal },
): Promise<Found[]> {
  const { schema, from, to, signal } = between;
  const limit = LIMITS[receiver.form];
  const most = limit.changes + 1;
  // The numbers are asked for again: a condition could close our parentheses.
  const wanted = `select number, ${dataOf(receiver.form)} as data from (${wantedQuery(receiver, { from, to })}) w
    where number between ${from} and ${to}`;
  const query = firstThatFit(wanted, { most, bytes: limit.bytes });
  const { rows } = await runBounded(reader, { query, schema, most, signal });
  return rows.map(([number, data]) => ({ number: number ?? '', data: data ?? '' }));
}

/** Throws kind `failed` for a condition that is no SQL over the columns of the view. */
export async function checkWanted(reader: Database, receiver: Wanted, schema: string, signal: AbortSignal) {
  await findChanges(reader, receiver, { schema, from: 0, to: 0, signal });
}

const wantedQuery = ({ on, where, form }: Wanted, between: { readonly from: number; readonly to: number }): string =>
  changesQuery({
    ...between,
    where: [`(${on.map(conditionOf).join(' or ')})`, ...(where === undefined ? [] : [`(${where}\n)`])].join(' and '),
    isText: form !== 'standard',
  });

/** Safe in SQL: a pattern has neither quotes nor spaces. */
function conditionOf(text: string): string {
  const { resource = '*', kind = '*' } = parsePattern(text) ?? {};
  return [
    ...(resource === '*' ? [] : [`resource = '${resource}'`]),
    ...(kind === '*' ? [] : [`kind = '${kind}'`]),
    'true',
  ].join(' and ');
}

const dataOf = (form: Receiver['form']): string =>
  form === 'standard' ? 'row_to_json(w)::text' : `left(concat_ws('  ', what, change), ${LONGEST_LINE})`;
