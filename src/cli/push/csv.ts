import { parse } from 'csv-parse';
import type { RawLine } from '../../push/lines.ts';
import type { PushTarget } from '../../push/targets.ts';
import { plural } from '../../service/format.ts';
import { parseJson } from '../../source/answers/json.ts';

interface CsvRecord {
  readonly record: string[];
  readonly raw: string;
}

/** The lines below a header. An empty cell is a field left out. */
export async function* readCsv(text: AsyncIterable<string>, target: PushTarget): AsyncGenerator<RawLine> {
  let header: string[] | null = null;
  // The parser counts the line ends within a quoted cell twice where they are CR LF.
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
    else yield { line: first, problem: `has ${plural(cells.length, 'cell')}, and the header ${header.length}` };
  }
}

async function* csvRecords(text: AsyncIterable<string>): AsyncGenerator<CsvRecord | { problem: string }> {
  // Collected as they are parsed: read from the stream, those before an error are lost.
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
  const what = code === 'CSV_QUOTE_NOT_CLOSED' ? 'opens a quote that is never closed' : 'has a quote where none may be';
  return `${what} (a cell with quotes is put in quotes, and those within it are doubled); what follows was not read`;
}

function headerProblem(header: readonly string[], { body }: PushTarget): string | null {
  const fields = Object.keys(body.shape);
  const wrong = header.filter(name => !fields.includes(name));
  const twice = header.filter((name, index) => header.indexOf(name) < index);
  if (wrong.length > 0)
    return `the header names ${wrong.map(name => `"${name}"`).join(', ')}; the columns there can be are ${fields.join(', ')}, with commas between them`;
  return twice.length > 0 ? `the header names ${twice.join(', ')} twice` : null;
}

function bodyOf(header: readonly string[], cells: readonly string[], { lists }: PushTarget): object {
  const filled = header.flatMap((name, index): [string, unknown][] => {
    const cell = cells[index] ?? '';
    return cell === '' ? [] : [[name, lists.includes(name) ? listIn(cell) : cell]];
  });
  return Object.fromEntries(filled);
}

/** A cell that is no JSON stays text, and is told as no list. */
function listIn(cell: string): unknown {
  try {
    return parseJson(cell);
  } catch {
    return cell;
  }
}
