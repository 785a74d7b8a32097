/**
 * Every failure Sluice reports, grouped by what the caller does about it:
 * - `usage`, `configuration`: nothing was started; correct the call or the setting (exit 2).
 * - `quota`: stopped at the request limit with `--no-wait`, progress kept (exit 75).
 * - `stopped`: asked to stop (Ctrl-C, SIGTERM); the same command goes on where it was.
 * - `unauthorized`: the source refuses the key; stop the run, keep the data, tell the operator.
 * - `refused`: the source rejects this request (4xx); repeating it cannot help.
 * - `absent`: the source does not offer what was asked for, and need not; the rest goes on.
 * - `unavailable`: the source stayed out of reach through every retry; a later run goes on.
 * - `database`: Postgres is out of reach, full or refuses; nothing of the open transaction was written.
 * - `stale`: another process took over this cursor; this one has written nothing and must not go on.
 * - `fuse`: more rows would be deleted than a day allows; they stay until accepted.
 * - `failed`: the run cannot reach its goal for a reason of its own, told in the message.
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
  | 'failed';

/** One error class; `kind` says what to do, `message` where and why, `next` the operator's next step. Never holds a secret. */
export class SluiceError extends Error {
  readonly kind: ErrorKind;
  readonly next: string | undefined;
  /** For `refused` and `unauthorized`: the HTTP status, and the field messages of a validation error. */
  readonly status: number | undefined;
  readonly fields: Readonly<Record<string, string>> | undefined;
  /** A request that changes something may have been carried out, though no sound answer came: look before repeating it. */
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

/** True when `error` is one of ours and of one of the given kinds. */
export function isKind(error: unknown, ...kinds: ErrorKind[]): error is SluiceError {
  return error instanceof SluiceError && kinds.includes(error.kind);
}

/** With the full stop that a text lacks which ends with what somebody else said. */
export const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

/** The text a person reads: the message, then the next step. Never a stack. */
export function explain(error: unknown): string {
  if (error instanceof SluiceError) return error.next ? `${error.message}\n${error.next}` : error.message;
  return error instanceof Error ? error.message : String(error);
}
