import { parseJson } from '../../../src/source/answers/json.ts';
import type { Exchange } from '../../../src/source/http/exchange.ts';

/** Which fault of `sluice sandbox --faults` an answer that is none looks like; several joined by `|` look alike from here. */
export function faultOf(came: Exchange, url: string): string {
  if (came.kind === 'too large') return came.headers['content-encoding'] === 'gzip' ? 'huge-gzip' : 'huge';
  if (came.kind === 'aborted') return 'stopped';
  if (came.kind === 'failed') {
    if (came.timedOut) return 'hang|hang-body|drip';
    const text = String(came.error);
    return text.includes('a body that is not the') ? 'wrong-encoding' : 'drop|reset|reset-body';
  }
  const { status, headers, text } = came;
  if (status >= 300 && status < 400) return redirect(String(headers.location ?? ''), url);
  const body = text.trimStart().startsWith('<') ? 'html' : 'json';
  if (status >= 400) return `${body}-${status}${waitIn(headers['retry-after'])}`;
  if (text.trim() === '') return 'empty-200';
  if (body === 'html') return 'html-200';
  return isJson(text) ? 'success-false' : 'cut-json';
}

function redirect(location: string, url: string): string {
  if (!URL.canParse(location, url)) return 'redirect-path';
  const [to, from] = [new URL(location, url), new URL(url)];
  if (to.host !== from.host) return 'redirect-host';
  // Under the query form of authentication the path alone says nothing.
  return to.pathname === from.pathname ? 'redirect-loop' : 'redirect-path';
}

function waitIn(header: string | string[] | undefined): '' | '-seconds' | '-date' {
  if (header === undefined) return '';
  return /^\d+$/.test(String(header)) ? '-seconds' : '-date';
}

function isJson(text: string): boolean {
  try {
    parseJson(text);
    return true;
  } catch {
    return false;
  }
}
