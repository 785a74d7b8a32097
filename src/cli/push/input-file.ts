import { createReadStream } from 'node:fs';
import { extname } from 'node:path';
import { SluiceError } from '../../errors.ts';
import type { RawLine } from '../../push/check-lines.ts';
import type { PushTarget } from '../../push/targets.ts';
import { parseJson } from '../../source/answers/json.ts';
import { readCsv } from './read-csv.ts';

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

/** The text without its byte order mark. */
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
    let value: unknown;
    try {
      value = parseJson(each);
    } catch {
      yield { line, problem: 'is not JSON' };
      continue;
    }
    yield { line, value };
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
