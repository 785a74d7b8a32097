import { asList, exactNumber, parseJson } from '../../../src/source/answers/json.ts';
import { BadValue, dateText, decimalText, integerText, stampText } from '../../../src/source/answers/values.ts';
import { type Finding, observed, undetermined, unrecognized } from '../findings/finding.ts';
import { type Cell, cellsOf } from '../lists/cells.ts';
import type { Kind } from '../lists/documented-lists.ts';
import type { ListReading, ListReadings } from '../lists/read-lists.ts';
import { type Answer, isRow, type Row } from '../requests/send-request.ts';

const isZeroDate = (value: unknown) => typeof value === 'string' && value.startsWith('0000-00-00');
const isNumber = ({ value }: Cell) => typeof value === 'number';
const isNumeral = ({ value }: Cell) => typeof value === 'string' && value !== '';

/** How numbers, timestamps and missing values are written. */
export function checkValues(lists: ListReadings): Finding[] {
  const cells = cellsOf(lists);
  return [
    checkMissingValues(cells),
    numbers(cells),
    digits(lists, cells),
    timestamps(cells),
    listForm(lists),
    checkNullRows(lists),
    ...checkNonObjects(lists),
    ...checkUnreadable(cells),
  ];
}

function checkMissingValues(cells: readonly Cell[]): Finding {
  const nulls = cells.filter(({ value }) => value === null).length;
  const absent = cells.filter(({ value }) => value === undefined).length;
  const zero = cells.filter(({ value }) => isZeroDate(value)).length;
  // A text may be empty; an empty number, date or timestamp is a missing value.
  const empty = cells.filter(({ value, kind }) => value === '' && kind !== 'text').length;
  const emptyTexts = cells.filter(({ value, kind }) => value === '' && kind === 'text').length;
  const seen = [
    ...(absent > 0 ? ['absent'] : []),
    ...(zero > 0 ? ['zero-date'] : nulls > 0 ? ['null'] : []),
    ...(empty > 0 || (emptyTexts > 0 && nulls + absent + zero === 0) ? ['empty'] : []),
  ];
  const evidence = `null ${nulls}, omitted ${absent}, 0000-00-00 ${zero}, "" ${empty + emptyTexts} times`;
  if (seen.length === 0) return undetermined('none', 'no value is missing');
  return seen.length === 1
    ? observed('none', seen[0] as string, evidence)
    : unrecognized('none', `${seen.join(' and ')}: ${evidence}`, 'yes');
}

/** Ids, amounts and other numbers separately, because each may be written differently. */
function numbers(cells: readonly Cell[]): Finding {
  const form = (kind: Kind) => {
    const some = cells.filter(cell => cell.kind === kind);
    const [plain, quoted] = [some.some(isNumber), some.some(isNumeral)];
    return plain && quoted ? 'both' : quoted ? 'strings' : plain ? 'numbers' : null;
  };
  const forms = { ids: form('id'), amounts: form('amount'), others: form('number') };
  const { ids, amounts, others } = forms;
  const evidence = `ids: ${ids ?? 'none'}, amounts: ${amounts ?? 'none'}, other numbers: ${others ?? 'none'}`;
  const known = [ids, amounts, others].filter(each => each !== null);
  if (known.length === 0) return undetermined('numbers', 'no row has numbers');
  const all = (each: string) => known.every(one => one === each);
  if (all('numbers')) return observed('numbers', 'numbers', evidence);
  if (all('strings')) return observed('numbers', 'strings', evidence);
  if (all('both')) return observed('numbers', 'mixed', evidence);
  if (ids === 'strings' && amounts !== 'strings' && others !== 'strings')
    return observed('numbers', 'string-ids', evidence);
  if (amounts === 'strings' && ids === 'numbers' && others !== 'strings')
    return observed('numbers', 'string-amounts', evidence);
  return unrecognized('numbers', evidence, 'yes');
}

/** Whether a double would change any amount. */
function digits(lists: ListReadings, cells: readonly Cell[]): Finding {
  const amounts = cells.filter(({ kind, value }) => kind === 'amount' && value !== null && value !== undefined);
  if (amounts.length === 0) return undetermined('digits', 'no row has amounts');
  const quoted = amounts.find(({ value }) => typeof value === 'string' && isBeyond(value))?.value;
  const exact = lists.offered.flatMap(({ first, name }) =>
    amountsOf(entriesOf(parseJson(first.text)).filter(isRow), name),
  );
  const plain = amounts.some(isNumber) ? exact.find(value => typeof value === 'string' && isBeyond(value)) : undefined;
  const beyond = quoted ?? plain;
  if (beyond !== undefined) return observed('digits', 'beyond', `an amount is ${String(beyond)}`);
  return observed('digits', 'double', `a double holds all of ${amounts.length} amounts`);
}

const entriesOf = (body: unknown): unknown[] => Object.values((body as { data: unknown[] }).data);

const isBeyond = (value: string) => /^-?\d+(\.\d+)?$/.test(value) && typeof exactNumber(value) === 'string';

function amountsOf(rows: readonly Row[], list: Cell['list']): unknown[] {
  const seen = { offered: [{ name: list, rows }] } as unknown as ListReadings;
  return cellsOf(seen)
    .filter(({ kind }) => kind === 'amount')
    .map(({ value }) => value);
}

const STAMPS: Record<string, RegExp> = {
  z: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
  micros: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/,
  zoneless: /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?$/,
  epoch: /^\d{9,10}$/,
  'epoch-ms': /^\d{12,13}$/,
};

/** Whether lists and the items of rows are arrays, or objects as PHP writes them. */
function listForm({ offered }: ListReadings): Finding {
  const forms = offered.flatMap(({ first, rows }) => [first.data, ...rows.map(({ items }) => items)]).flatMap(formOf);
  const seen = (['gaps', 'object', 'array'] as const).find(form => forms.includes(form));
  if (seen === undefined) return undetermined('lists', 'every list is empty');
  return observed(
    'lists',
    seen,
    `${forms.filter(form => form !== 'array').length} of ${forms.length} lists are objects`,
  );
}

function formOf(list: unknown): ('array' | 'object' | 'gaps')[] {
  if (typeof list !== 'object' || list === null || Object.keys(list).length === 0) return [];
  if (Array.isArray(list)) return ['array'];
  return [Object.keys(list).every((name, index) => name === String(index)) ? 'object' : 'gaps'];
}

function timestamps(cells: readonly Cell[]): Finding {
  const stamps = cells.filter(
    cell => cell.kind === 'stamp' && /^[1-9]/.test(typeof cell.value === 'object' ? '' : String(cell.value)),
  );
  const values = stamps.map(({ value }) => String(value));
  if (values.length === 0) return undetermined('timestamps', 'no row has timestamps');
  const forms = Object.keys(STAMPS).filter(name => values.some(value => STAMPS[name]?.test(value)));
  const other = values.find(value => !Object.values(STAMPS).some(form => form.test(value)));
  if (other === undefined && forms.length === 1) return observed('timestamps', forms[0] as string, `e.g. ${values[0]}`);
  const readable = values.every(value => !isBad({ kind: 'stamp', value }));
  const handled = readable ? 'yes' : 'not: Sluice cannot parse such a timestamp, and its row goes to quarantine';
  return unrecognized('timestamps', other === undefined ? forms.join(' and ') : `e.g. ${other}`, handled);
}

const QUARANTINE = 'not: their rows go to quarantine';

/** A null goes to quarantine like any entry that is not an object, but holds nothing that could be lost. */
function checkNullRows({ offered }: ListReadings): Finding {
  const entries = offered.reduce((sum, { first }) => sum + first.count, 0);
  if (entries === 0) return undetermined('null-rows', 'every list is empty');
  const some = offered.filter(({ first }) => nullsIn(first) > 0);
  if (some.length === 0) return observed('null-rows', 'no', `none of ${entries} rows is null`);
  const count = some.reduce((sum, { first }) => sum + nullsIn(first), 0);
  const lists = some.map(({ name }) => name).join(', ');
  const seen = some.some(({ first }) => nullsIn(first) > 1) ? 'two' : 'yes';
  return observed('null-rows', seen, `${count} ${count === 1 ? 'row' : 'rows'}, in ${lists}`);
}

function nullsIn({ data }: Answer): number {
  const entries = asList(data);
  return Array.isArray(entries) ? (entries as unknown[]).filter(entry => entry === null).length : 0;
}

/** List entries that are neither objects nor null. */
function checkNonObjects({ offered }: ListReadings): Finding[] {
  const countIn = ({ first, rows }: ListReading) => first.count - rows.length - nullsIn(first);
  const some = offered.filter(reading => countIn(reading) > 0);
  if (some.length === 0) return [];
  const entries = some.reduce((sum, reading) => sum + countIn(reading), 0);
  const evidence = `${entries} ${entries === 1 ? 'entry is not an object' : 'entries are not objects'}, e.g. in ${some[0]?.name}`;
  return [unrecognized('values', evidence, QUARANTINE)];
}

/** Values that Sluice cannot parse. */
function checkUnreadable(cells: readonly Cell[]): Finding[] {
  const bad = cells.filter(cell => cell.kind !== 'stamp' && isBad(cell));
  if (bad.length === 0) return [];
  const { list, field, value } = bad[0] as Cell;
  const evidence = `${bad.length} invalid values, e.g. ${list}.${field} ${JSON.stringify(value)?.slice(0, 60)}`;
  return [unrecognized('values', evidence, QUARANTINE)];
}

function isBad({ kind, value }: Pick<Cell, 'kind' | 'value'>): boolean {
  if (value === undefined || value === null) return false;
  try {
    if (kind === 'id') integerText(value);
    else if (kind === 'amount' || kind === 'number') decimalText(value);
    else if (kind === 'date') dateText(value);
    else if (kind === 'stamp') stampText(value);
    else if (kind === 'items' && !(typeof value === 'object' && Object.values(value).every(isRow)))
      throw new BadValue('expected a list of objects');
    else if (kind === 'text' && typeof value === 'object') throw new BadValue('expected text');
    return false;
  } catch (error) {
    if (error instanceof BadValue) return true;
    throw error;
  }
}
