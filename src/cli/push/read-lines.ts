import { createReadStream } from 'node:fs';
import { extname } from 'node:path';
import { finished } from 'node:stream/promises';
import { parse } from 'csv-parse';
import { codeOf, SluiceError } from '../../errors.ts';
import { didYouMean } from '../../nearest-name.ts';
import type { PushTarget, RawLine } from '../../push/targets.ts';
import { plural } from '../../service/format.ts';
import { parseJson } from '../../source/answers/json.ts';

/** All lines are checked and held in memory before the first is sent; one by one, 1000 requests an hour send 24,000 a day. */
const MOST_LINES = 100_000;

/**
 * The lines of a `.csv` file with a header or of an `.ndjson` (`.jsonl`) file, without blank ones. Kind `usage` for another
 * format, for a file that cannot be read or is not UTF-8, and for more than 100,000 lines.
 */
export async function* readLines(path: string, target: PushTarget): AsyncGenerator<RawLine> {
  const read = FORMATS[extname(path).toLowerCase()];
  if (!read)
    throw new SluiceError('usage', `The name of "${path}" does not end in .csv, .ndjson or .jsonl.`, {
      next: 'Expected: file.csv (with a header line) or file.ndjson (one JSON object per line).',
    });
  let count = 0;
  for await (const line of read(textOf(path), target)) {
    if (++count > MOST_LINES)
      throw new SluiceError('usage', `${path} has more than ${MOST_LINES.toLocaleString('en-US')} lines.`, {
        next: 'Split the file and push the parts one after another.',
      });
    yield line;
  }
}

type Format = (text: AsyncIterable<string>, target: PushTarget) => AsyncGenerator<RawLine>;
const FORMATS: Readonly<Record<string, Format>> = { '.csv': readCsv, '.ndjson': readNdjson, '.jsonl': readNdjson };

async function* textOf(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const chunk of createReadStream(path)) yield decoder.decode(chunk as Buffer, { stream: true });
    yield decoder.decode();
  } catch (error) {
    const why = error instanceof TypeError ? 'it is not UTF-8' : (error as Error).message;
    throw new SluiceError('usage', `${path} cannot be read: ${why}.`, {
      next: 'Expected: the path of a text file in UTF-8.',
      cause: error,
    });
  }
}

async function* readNdjson(text: AsyncIterable<string>): AsyncGenerator<RawLine> {
  let line = 0;
  for await (const each of splitLines(text)) {
    line++;
    if (each.trim() === '') continue;
    const value = parsed(each);
    yield value === undefined ? { line, problem: 'is not JSON' } : { line, value };
  }
}

async function* splitLines(text: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of text) {
    const pieces = (rest + chunk).split('\n');
    rest = pieces.pop() ?? '';
    yield* pieces;
  }
  yield rest;
}

/** The lines below the header. An empty cell omits its field. */
async function* readCsv(text: AsyncIterable<string>, target: PushTarget): AsyncGenerator<RawLine> {
  let header: string[] | null = null;
  // Counted here: the parser counts a CR LF within a quoted cell twice.
  let line = 1;
  for await (const each of csvRecords(text)) {
    if ('problem' in each) {
      yield { line, problem: each.problem };
      return;
    }
    const first = line;
    line += each.raw.match(/\r\n|\r|\n/g)?.length ?? 0;
    const cells = each.record;
    if (cells.every(cell => cell.trim() === '')) continue;
    if (header === null) {
      header = cells.map(cell => cell.trim());
      const problem = headerProblem(header, target);
      if (problem === null) continue;
      yield { line: first, problem };
      return;
    }
    if (cells.length === header.length) yield { line: first, value: bodyOf(header, cells, target) };
    else yield { line: first, problem: `has ${plural(cells.length, 'cell')}, but the header has ${header.length}` };
  }
}

async function* csvRecords(
  text: AsyncIterable<string>,
): AsyncGenerator<{ readonly record: string[]; readonly raw: string } | { readonly problem: string }> {
  // Collected as they are parsed: the stream drops the records before an error.
  const ready: { record: string[]; raw: string }[] = [];
  const parser = parse({
    raw: true,
    relax_column_count: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    on_record: (record: unknown) => void ready.push(record as (typeof ready)[number]),
  });
  const ended = finished(parser.resume()).catch((error: unknown) => error);
  for await (const chunk of text) {
    if (chunk !== '') await new Promise<void>(resolve => void parser.write(chunk, () => resolve()));
    yield* ready.splice(0);
    if (parser.errored) break;
  }
  if (!parser.errored) parser.end();
  const error = await ended;
  yield* ready.splice(0);
  if (error === undefined) return;
  const what =
    codeOf(error) === 'CSV_QUOTE_NOT_CLOSED' ? 'opens a quote that is never closed' : 'has a misplaced quote';
  yield {
    problem: `${what} (enclose a cell with quotes in quotes and double those inside it); the lines after it were not read`,
  };
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
    const value = lists.includes(name) ? parsed(cell) : cell;
    // A cell that is not JSON stays text; the check of the line then reports that it is not a list.
    return cell === '' ? [] : [[name, value === undefined ? cell : value]];
  });
  return Object.fromEntries(filled);
}

/** Undefined for a text that is not JSON. */
function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
