import { createReadStream } from 'node:fs';
import { extname } from 'node:path';
import { SluiceError } from '../../errors.ts';
import type { RawLine } from '../../push/lines.ts';
import type { PushTarget } from '../../push/targets.ts';
import { parseJson } from '../../source/answers/json.ts';
import { readCsv } from './csv.ts';

/** They are checked, and held, before the first is sent; at 1000 requests an hour far fewer are sent in a day one by one. */
const MOST_LINES = 100_000;

/**
 * The lines of a `.csv` file with a header, or of an `.ndjson` (`.jsonl`) file; blank ones are passed over. Kind `usage` for any
 * other, for one that cannot be read, is not UTF-8, or holds more than 100,000 lines.
 */
export async function* readLines(path: string, target: PushTarget): AsyncGenerator<RawLine> {
  const read = FORMATS[extname(path).toLowerCase()];
  if (!read)
    throw new SluiceError('usage', `"${path}" is neither a CSV nor an NDJSON file by its name.`, {
      next: 'Expected: file.csv (with a header line) or file.ndjson (one JSON object a line).',
    });
  let count = 0;
  for await (const line of read(textOf(path), target)) {
    if (++count > MOST_LINES)
      throw new SluiceError('usage', `${path} holds more than ${MOST_LINES.toLocaleString('en-US')} lines.`, {
        next: 'Split it, and push one part after the other.',
      });
    yield line;
  }
}

type Format = (text: AsyncIterable<string>, target: PushTarget) => AsyncGenerator<RawLine>;
const FORMATS: Readonly<Record<string, Format>> = { '.csv': readCsv, '.ndjson': readNdjson, '.jsonl': readNdjson };

/** Without the byte order mark. */
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
