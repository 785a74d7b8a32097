import { isObject } from './json.ts';

/** Characters of one record that replace invalid bytes, by field. */
export type ReplacedFields = Readonly<Record<string, number>>;

/** The records of an answer that came with invalid bytes. */
export type Replaced = ReadonlyMap<unknown, ReplacedFields>;

/** The answer with U+FFFD in place of `mark`, and the records of its `data` that held any. */
export function replaceMarks(
  body: Record<string, unknown>,
  mark: string,
): { body: Record<string, unknown>; replaced: Replaced } {
  const whole = withoutMark(body, mark) as Record<string, unknown>;
  const counts = new Map<unknown, ReplacedFields>();
  const [before, after] = [recordsOf(body.data), recordsOf(whole.data)];
  for (const [index, record] of before.entries()) {
    const fields = countByField(record, mark);
    if (Object.keys(fields).length > 0) counts.set(after[index], fields);
  }
  return { body: whole, replaced: counts };
}

const recordsOf = (data: unknown): readonly unknown[] => (Array.isArray(data) ? data : [data]);

function countByField(record: unknown, mark: string): ReplacedFields {
  if (!isObject(record)) return {};
  const counted = Object.entries(record).map(([name, value]): [string, number] => [
    name.replaceAll(mark, '\ufffd'),
    countMarks(name, mark) + countMarks(JSON.stringify(value) ?? '', mark),
  ]);
  return Object.fromEntries(counted.filter(([, count]) => count > 0));
}

const countMarks = (text: string, mark: string): number => text.split(mark).length - 1;

function withoutMark(value: unknown, mark: string): unknown {
  if (typeof value === 'string') return value.replaceAll(mark, '\ufffd');
  if (Array.isArray(value)) return value.map(item => withoutMark(item, mark));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name.replaceAll(mark, '\ufffd'), withoutMark(item, mark)]),
  );
}
