import type { Readable, Writable } from 'node:stream';

/** The process in which a command runs, as far as a command may know it. Only `main.ts` and the log know the real one. */
export interface Shell {
  /** Without the program's own name. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder in which it was started. */
  readonly cwd: string;
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
}

/** `isTTY`: a person types there. */
export type Input = NodeJS.ReadStream | (Readable & { readonly isTTY?: undefined });
/** `isTTY`: a person reads there. */
export type Output = NodeJS.WriteStream | (Writable & { readonly isTTY?: undefined; readonly columns?: undefined });
