import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';
import { visibleJson } from './visible-text.ts';

export type Log = Logger;

/** A logger: readable lines on a terminal, JSON elsewhere. */
export function createLog(options: {
  level: string;
  /** `info` in place of 30, for log systems that expect words. Default: false. */
  levelWords?: boolean;
  /** Hides secrets anywhere in a line: pino's own redaction works by path, and misses them in errors, messages and URLs. Default: none. */
  hide?: (line: string) => string;
  /** Colors readable lines. Default: false. */
  color?: boolean;
  /** Default: stderr, which it is if it is a terminal. */
  destination?: NodeJS.WritableStream;
}): Log {
  const { hide = String, color = false, levelWords = false, destination = process.stderr } = options;
  const readable = 'isTTY' in destination && destination.isTTY === true;
  const visible = (line: string) => (readable ? shownEscapes(visibleJson(line)) : visibleJson(line));
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      ...(levelWords && { formatters: { level: label => ({ level: label }) } }),
      hooks: { streamWrite: line => visible(hide(line)) },
    },
    readable ? pretty({ destination: 2, colorize: color, ignore: 'pid,hostname', sync: true }) : destination,
  );
}

/** The readable form shows what the strings of a line contain, so escapes other than that of a line end become their text. */
const shownEscapes = (json: string): string =>
  json.replace(/\\(?:u00([\da-f]{2})|(u[\da-f]{4}|[bfrt])|.)/gi, (found, byte, other) =>
    byte ? `\\\\x${byte}` : other ? `\\\\${other}` : found,
  );

/** Shorter secrets are not hidden: a key of `k` turned every k of the log into [secret]. */
const SHORTEST = 4;

/** Replaces each secret of at least four characters with `[secret]`, also in the forms it takes in JSON, URLs and base64. */
export function hideSecrets(secrets: readonly string[]): (text: string) => string {
  const forms = secrets
    .filter(secret => secret.length >= SHORTEST)
    .flatMap(secret => {
      const encoded = encodeURIComponent(secret);
      const bytes = Buffer.from(secret);
      return [
        secret,
        JSON.stringify(secret).slice(1, -1),
        encoded,
        encoded.replaceAll(/%../g, each => each.toLowerCase()),
        ...[bytes.toString('base64'), bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url')],
      ];
    })
    .sort((a, b) => b.length - a.length);
  const unique = [...new Set(forms)];
  return text => unique.reduce((line, secret) => line.replaceAll(secret, '[secret]'), text);
}
