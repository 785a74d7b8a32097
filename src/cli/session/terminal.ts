import { randomInt } from 'node:crypto';
import pc from 'picocolors';
import { codeOf, SluiceError } from '../../errors.ts';
import { hideSecrets } from '../../log.ts';
import { isoTimes } from '../../service/format.ts';
import { visibleJson, visibleLines } from '../../visible-text.ts';
import type { Output, Shell } from './shell.ts';

const PAINTS = ['bold', 'dim', 'red', 'green', 'cyan'] as const;

/** Colours do not nest. */
export type Colors = Pick<ReturnType<typeof pc.createColors>, 'isColorSupported' | (typeof PAINTS)[number]>;

/** No colours, for files. */
export const PLAIN: Colors = pc.createColors(false);

const CODE = '\x1b[';
/**
 * Begins our own colours until they are written. Text from outside may contain codes too, but cannot guess this one, and is made visible.
 * To what measures text it is a code like any other.
 */
const MARK = `${CODE}${randomInt(1000, 10_000)};${randomInt(1000, 10_000)};`;

/** A command's output: its result goes to stdout, everything else to stderr. */
export type Terminal = ReturnType<typeof createTerminal>;

export function createTerminal(
  { stdout, stderr, env }: Pick<Shell, 'stdout' | 'stderr' | 'env'>,
  options: { json: boolean; color: boolean },
) {
  let hidden = hideSecrets([]);
  let known: string[] = [];
  let closed = false;
  let lost: SluiceError | null = null;
  let begun = false;
  const close = (cause: NodeJS.ErrnoException) => {
    // EPIPE: the reader has gone, as `head` does. That is not a failure.
    if (!closed && cause.code !== 'EPIPE')
      lost = new SluiceError('failed', `The result cannot be written to standard output (${codeOf(cause)}).`, {
        cause,
        next: 'Send it where there is room and it can be written, and run the command again.',
      });
    closed = true;
  };
  stdout.on('error', close);
  // There is nowhere left to say so.
  stderr.on('error', () => undefined);
  const { NO_COLOR, FORCE_COLOR, TERM } = env;
  // As Node does: FORCE_COLOR=0 and NO_COLOR mean no colours, on a terminal as in a pipe.
  const forced = FORCE_COLOR ? !/^(0|false)$/.test(FORCE_COLOR) : null;
  const colorful = (stream: Output) =>
    options.color && !NO_COLOR && (forced ?? (stream.isTTY === true && TERM !== 'dumb'));

  return {
    /** The result is printed as one JSON document. */
    json: options.json,
    /** stderr if it is a terminal on which progress bars can be drawn. */
    watched: stderr.isTTY === true && TERM !== 'dumb' ? stderr : null,
    /** Columns of stdout; null if it is not a terminal, where no line need fit. */
    width: stdout.isTTY ? Math.max(stdout.columns || 100, 60) : null,
    /** For stdout. */
    colors: markedColors(colorful(stdout) && !options.json),
    /** For stderr. */
    noteColors: markedColors(colorful(stderr)),
    /** Prints the result: the document with `--json`, otherwise the text. */
    show(document: unknown, text: () => string): void {
      if (closed) return;
      stdout.write(`${options.json ? visibleJson(JSON.stringify(isoTimes(document), null, 2)) : toScreen(text())}\n`);
    },
    /**
     * Writes part of a streamed result, exactly, for programs read it too: its format makes text visible. Resolves when more can be written,
     * with false once the reader is gone.
     */
    async write(text: string): Promise<boolean> {
      begun = true;
      if (closed) return false;
      await new Promise<void>(resolve => stdout.write(text.replaceAll(MARK, CODE), () => resolve()));
      return !closed;
    },
    /** stdout takes no more: its reader is gone, or writing failed. */
    get closed(): boolean {
      return closed;
    },
    /** Kind `failed` if part of the result could not be written; known after `flush`. */
    get lost(): SluiceError | null {
      return lost;
    },
    /** Part of the result has been written. */
    get begun(): boolean {
      return begun;
    },
    note: (line: string): void => void stderr.write(`${toScreen(hidden(line))}\n`),
    /** Replaces these values in everything written to stderr from now on. */
    hide(secrets: readonly string[]): void {
      if (secrets.every(secret => known.includes(secret))) return;
      known = [...known, ...secrets];
      hidden = hideSecrets(known);
    },
    hidden: (text: string) => hidden(text),
    /** Resolves when everything written has been handed to the operating system, or cannot be. */
    async flush(): Promise<void> {
      for (const stream of [stdout, stderr])
        await new Promise<void>(resolve => {
          if (stream.destroyed) resolve();
          else
            stream.write('', error => {
              if (error && stream === stdout) close(error);
              resolve();
            });
        });
    },
  };
}

function markedColors(enabled: boolean): Colors {
  const colors = pc.createColors(enabled);
  const marked = PAINTS.map(name => [
    name,
    (text: unknown) => colors[name](visibleLines(String(text))).replaceAll(CODE, MARK),
  ]);
  return { ...colors, ...Object.fromEntries(marked) };
}

/** Nothing but our own colours reaches a terminal as a code. */
const toScreen = (text: string): string => text.split(MARK).map(visibleLines).join(CODE);
