import { extname } from 'node:path';
import { parse } from 'csv-parse/sync';
import { codeOf, SluiceError } from '../../errors.ts';
import { didYouMean } from '../../nearest-name.ts';
import type { PushTarget, RawLine } from '../../push/targets.ts';
import { plural } from '../../service/format.ts';
import { jsonIn } from '../../source/answers/envelope.ts';
import { readNamed } from '../session/read-named.ts';

/** All lines are checked and held in memory before the first is sent; one by one, 1000 requests an hour send 24,000 a day. */
const MOST_LINES = 100_000;

/**
 * The lines of a `.csv` file with a header or of an `.ndjson` (`.jsonl`) file, without blank ones. Kind `usage` for another
 * format, for a file that cannot be read or is not UTF-8, and for more than 100,000 lines.
 */
export function readLines(path: string, target: PushTarget): RawLine[] {
  const read = FORMATS[extname(path).toLowerCase()];
  if (!read)
    throw new SluiceError('usage', `The name of "${path}" does not end in .csv, .ndjson or .jsonl.`, {
      next: 'Expected: file.csv (with a header line) or file.ndjson (one JSON object per line).',
    });
  const lines = read(readNamed(path, 'the path of a text file in UTF-8.'), target);
  if (lines.length > MOST_LINES)
    throw new SluiceError('usage', `${path} has more than ${MOST_LINES.toLocaleString('en-US')} lines.`, {
      next: 'Split the file and push the parts one after another.',
    });
  return lines;
}

type Format = (text: string, target: PushTarget) => RawLine[];
const FORMATS: Readonly<Record<string, Format>> = { '.csv': readCsv, '.ndjson': readNdjson, '.jsonl': readNdjson };

function readNdjson(text: string): RawLine[] {
  return text.split('\n').flatMap((each, index): RawLine[] => {
    if (each.trim() === '') return [];
    const value = jsonIn(each);
    return [{ line: index + 1, ...(value === undefined ? { problem: 'is not JSON' } : { value }) }];
  });
}

/** The lines below the header. An empty cell omits its field. */
function readCsv(text: string, target: PushTarget): RawLine[] {
  const { records, problem: broken } = parseCsv(text);
  const lines: RawLine[] = [];
  let header: string[] | null = null;
  // Counted here: the parser counts a CR LF within a quoted cell twice.
  let next = 1;
  for (const { record: cells, raw } of records) {
    const line = next;
    next += raw.match(/\r\n|\r|\n/g)?.length ?? 0;
    if (cells.every(cell => cell.trim() === '')) continue;
    if (header === null) {
      header = cells.map(cell => cell.trim());
      const problem = headerProblem(header, target);
      if (problem !== null) return [{ line, problem }];
    } else if (cells.length === header.length) lines.push({ line, value: bodyOf(header, cells, target) });
    else lines.push({ line, problem: `has ${plural(cells.length, 'cell')}, but the header has ${header.length}` });
  }
  return broken === null ? lines : [...lines, { line: next, problem: broken }];
}

/** The records before the first misplaced quote, and what is wrong with that; null for a sound file. */
function parseCsv(text: string) {
  const records: { readonly record: string[]; readonly raw: string }[] = [];
  try {
    parse(text, {
      raw: true,
      relax_column_count: true,
      record_delimiter: ['\r\n', '\n', '\r'],
      on_record: (record: unknown) => void records.push(record as (typeof records)[number]),
    });
    return { records, problem: null };
  } catch (error) {
    const what =
      codeOf(error) === 'CSV_QUOTE_NOT_CLOSED' ? 'opens a quote that is never closed' : 'has a misplaced quote';
    return {
      records,
      problem: `${what} (enclose a cell with quotes in quotes and double those inside it); the lines after it were not read`,
    };
  }
}

function headerProblem(header: readonly string[], { body }: PushTarget): string | null {
  const fields = Object.keys(body.shape);
  const wrong = header.filter(name => !fields.includes(name));
  const twice = header.filter((name, index) => header.indexOf(name) < index);
  if (wrong.length > 0)
    return `unknown ${wrong.length === 1 ? 'column' : 'columns'} ${wrong.map(name => `"${name}"${didYouMean(name, fields)}`).join(', ')} in the header; allowed, separated by commas: ${fields.join(', ')}`;
  return twice.length > 0 ? `the header repeats ${twice.join(', ')}` : null;
}

function bodyOf(header: readonly string[], cells: readonly string[], { lists }: PushTarget): object {
  const filled = header.flatMap((name, index): [string, unknown][] => {
    const cell = cells[index] ?? '';
    const value = lists.includes(name) ? jsonIn(cell) : cell;
    // A cell that is not JSON stays text; the check of the line then reports that it is not a list.
    return cell === '' ? [] : [[name, value === undefined ? cell : value]];
  });
  return Object.fromEntries(filled);
}
