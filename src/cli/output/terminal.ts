import pc from 'picocolors';
import { hideSecrets } from '../../log.ts';

export type Colors = ReturnType<typeof pc.createColors>;

/** Where a command writes: its result to stdout, everything else to stderr. */
export interface Terminal {
  /** The result is one JSON document. */
  readonly json: boolean;
  /** A person watches stderr: bars may be drawn. */
  readonly watched: boolean;
  /** Columns of stdout; 100 where it is no terminal. */
  readonly width: number;
  /** For stdout. */
  readonly colors: Colors;
  /** For stderr. */
  readonly noteColors: Colors;
  /** Shows the result: as a document with `--json`, else as text. */
  show(document: unknown, text: () => string): void;
  /** Part of a result that is written as it comes; resolves when more may follow. False: nobody reads any more. */
  write(text: string): Promise<boolean>;
  /** A part of the result has been written already. */
  readonly begun: boolean;
  /** A line about what is going on. */
  note(line: string): void;
  /** From now on these appear in no note. */
  hide(secrets: readonly string[]): void;
  readonly hidden: (text: string) => string;
  /** Resolves when all was handed over to the reader. */
  flush(): Promise<void>;
}

export function createTerminal(options: { json: boolean; color: boolean }): Terminal {
  const { stdout, stderr } = process;
  let hidden = hideSecrets([]);
  let known: string[] = [];
  let closed = false;
  let begun = false;
  for (const stream of [stdout, stderr]) {
    // The reader went away, as `head` does: that is no failure of ours.
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      if (stream === stdout) closed = true;
    });
  }
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  // Node, too, takes FORCE_COLOR=0 and NO_COLOR for none, on a terminal as in a pipe.
  const forced = FORCE_COLOR ? !/^(0|false)$/.test(FORCE_COLOR) : null;
  const colorful = (stream: NodeJS.WriteStream) =>
    options.color && !NO_COLOR && (forced ?? (stream.isTTY === true && TERM !== 'dumb'));

  return {
    json: options.json,
    watched: stderr.isTTY === true && process.env.TERM !== 'dumb',
    width: Math.max(stdout.columns || 100, 60),
    colors: pc.createColors(colorful(stdout) && !options.json),
    noteColors: pc.createColors(colorful(stderr)),
    show(document, text) {
      stdout.write(`${options.json ? JSON.stringify(document, null, 2) : text()}\n`);
    },
    async write(text) {
      begun = true;
      if (closed) return false;
      await new Promise<void>(resolve => stdout.write(text, () => resolve()));
      return !closed;
    },
    get begun() {
      return begun;
    },
    note: line => void stderr.write(`${hidden(line)}\n`),
    hide(secrets) {
      known = [...known, ...secrets];
      hidden = hideSecrets(known);
    },
    hidden: text => hidden(text),
    async flush() {
      for (const stream of [stdout, stderr])
        await new Promise<void>(resolve => (stream.destroyed ? resolve() : stream.write('', () => resolve())));
    },
  };
}
