import { parse } from 'csv-parse';
import { didYouMean } from '../../nearest-name.ts';
import type { RawLine } from '../../push/check-lines.ts';
import type { PushTarget } from '../../push/targets.ts';
import { plural } from '../../service/format.ts';
import { parseJson } from '../../source/answers/json.ts';

interface CsvRecord {
  readonly record: string[];
  readonly raw: string;
}

/** The lines below the header. An empty cell omits its field. */
export async function* readCsv(text: AsyncIterable<string>, target: PushTarget): AsyncGenerator<RawLine> {
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

async function* csvRecords(text: AsyncIterable<string>): AsyncGenerator<CsvRecord | { problem: string }> {
  // Collected as they are parsed: the stream drops the records before an error.
  const ready: CsvRecord[] = [];
  let failed: Error | null = null;
  const parser = parse({
    raw: true,
    relax_column_count: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    on_record: (record: unknown) => {
      ready.push(record as CsvRecord);
      return null;
    },
  });
  parser.on('error', error => {
    failed = error;
  });
  parser.resume();
  const push = (chunk: string | null) =>
    new Promise<void>(resolve => {
      const done = () => resolve();
      if (chunk === null) {
        parser.once('end', done).once('error', done);
        parser.end();
      } else parser.write(chunk, done);
    });
  const takeReady = () => ready.splice(0, ready.length);
  for await (const chunk of text) {
    if (chunk !== '') await push(chunk);
    yield* takeReady();
    if (failed !== null) break;
  }
  if (failed === null) await push(null);
  yield* takeReady();
  if (failed !== null) yield { problem: quoteProblem(failed) };
}

function quoteProblem(error: Error): string {
  const code = 'code' in error ? error.code : undefined;
  const what = code === 'CSV_QUOTE_NOT_CLOSED' ? 'opens a quote that is never closed' : 'has a misplaced quote';
  return `${what} (enclose a cell with quotes in quotes and double those inside it); the lines after it were not read`;
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
    return cell === '' ? [] : [[name, lists.includes(name) ? listIn(cell) : cell]];
  });
  return Object.fromEntries(filled);
}

/** A cell that is not JSON stays text; the check of the line then reports that it is not a list. */
function listIn(cell: string): unknown {
  try {
    return parseJson(cell);
  } catch {
    return cell;
  }
}
