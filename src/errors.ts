/**
 * Every failure that Sluice reports, grouped by what the caller does about it:
 * - `usage`, `configuration`: nothing was started; correct the call or the setting (exit 2).
 * - `quota`: stopped at the request limit with `--no-wait`; progress is kept (exit 75).
 * - `stopped`: stopped on request (Ctrl-C, SIGTERM); the same command continues where it stopped.
 * - `unauthorized`: the source rejects the key; stop the run, keep the data, inform the operator.
 * - `refused`: the source rejects this request (4xx); repeating it cannot help.
 * - `absent`: the source does not offer what was requested, and need not; continue with the rest.
 * - `unavailable`: the source remained unreachable through every retry; a later run continues.
 * - `database`: Postgres is unreachable, full or rejects the statement; the open transaction wrote nothing.
 * - `stale`: another process took over this cursor; this one wrote nothing and must stop.
 * - `fuse`: losing these rows or values would exceed the loss limit; they stay until an operator accepts the loss.
 * - `rewrite`: more values of a field were replaced than people usually do in a day; they are stored, and somebody should look.
 * - `failed`: the run cannot succeed for another reason, which the message states.
 */
export type ErrorKind =
  | 'usage'
  | 'configuration'
  | 'quota'
  | 'stopped'
  | 'unauthorized'
  | 'refused'
  | 'absent'
  | 'unavailable'
  | 'database'
  | 'stale'
  | 'fuse'
  | 'rewrite'
  | 'failed';

/** `kind` says what the caller does, `message` where and why it failed, `next` the operator's next step. Never contains a secret. */
export class SluiceError extends Error {
  readonly kind: ErrorKind;
  readonly next: string | undefined;
  /** The HTTP status, for `refused` and `unauthorized`. */
  readonly status: number | undefined;
  /** The source's message for each field that failed its validation. */
  readonly fields: Readonly<Record<string, string>> | undefined;
  /** A writing request may have succeeded although its answer was lost or unusable: check before repeating it. */
  readonly outcomeUnknown: boolean;

  constructor(
    kind: ErrorKind,
    message: string,
    options: {
      next?: string;
      cause?: unknown;
      status?: number;
      fields?: Record<string, string>;
      outcomeUnknown?: boolean;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'SluiceError';
    this.kind = kind;
    this.next = options.next;
    this.status = options.status;
    this.fields = options.fields;
    this.outcomeUnknown = options.outcomeUnknown ?? false;
  }
}

/** True for a SluiceError of one of the given kinds. */
export function isKind(error: unknown, ...kinds: ErrorKind[]): error is SluiceError {
  return error instanceof SluiceError && kinds.includes(error.kind);
}

/** The errno, SQLSTATE or library code of an error; '' if it has none. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : '';
}

export const capitalized = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

/** Adds a full stop to a text that ends without one, for example because it ends with a quoted message. */
export const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

/** The text for a person: the message, then the next step, without the stack. */
export function explain(error: unknown): string {
  if (error instanceof SluiceError) return error.next ? `${error.message}\n${error.next}` : error.message;
  return error instanceof Error ? error.message : String(error);
}
