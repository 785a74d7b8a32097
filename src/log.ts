import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

export type Log = Logger;

/**
 * A logger to stderr: readable lines on a terminal, JSON elsewhere. `secrets` are replaced wherever they would appear in a
 * line, because pino's own redaction works by path and misses values nested in errors, messages and URLs.
 */
export function createLog(options: {
  level: string;
  secrets: readonly string[];
  destination?: NodeJS.WritableStream;
}): Log {
  const destination = options.destination ?? process.stderr;
  const readable = options.destination === undefined && process.stderr.isTTY;
  const hide = hideSecrets(options.secrets);
  return pino(
    { level: options.level, base: null, timestamp: pino.stdTimeFunctions.isoTime, hooks: { streamWrite: hide } },
    readable ? pretty({ destination: 2, colorize: true, ignore: 'pid,hostname', sync: true }) : destination,
  );
}

/** Replaces each secret, also as it looks inside JSON and URLs, by `[secret]`. */
export function hideSecrets(secrets: readonly string[]): (text: string) => string {
  const forms = secrets
    .filter(secret => secret.length > 0)
    .flatMap(secret => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])
    .sort((a, b) => b.length - a.length);
  const unique = [...new Set(forms)];
  return text => unique.reduce((line, secret) => line.replaceAll(secret, '[secret]'), text);
}
