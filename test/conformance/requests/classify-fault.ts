import { parseJson } from '../../../src/source/answers/json.ts';
import type { Exchange } from '../../../src/source/http/exchange.ts';

/** The fault of `sluice sandbox --faults` that an unusable result shows. Names joined by `|` cannot be distinguished. */
export function classifyFault(result: Exchange, url: string): string {
  if (result.kind === 'known') return 'known';
  if (result.kind === 'too large') return result.headers['content-encoding'] === 'gzip' ? 'huge-gzip' : 'huge';
  if (result.kind === 'aborted') return 'stopped';
  if (result.kind === 'failed') {
    if (result.timedOut) return 'hang|hang-body|drip';
    const text = String(result.error);
    return text.includes('a body that is not valid') ? 'wrong-encoding' : 'drop|reset|reset-body';
  }
  const { status, headers, text } = result;
  if (status >= 300 && status < 400) return redirect(String(headers.location ?? ''), url);
  const body = text.trimStart().startsWith('<') ? 'html' : 'json';
  if (status >= 400) return `${body}-${status}${retryAfterForm(headers['retry-after'])}`;
  if (text.trim() === '') return 'empty-200';
  if (body === 'html') return 'html-200';
  return isJson(text) ? failureIn(text) : 'cut-json';
}

function failureIn(text: string): string {
  const { success } = parseJson(text) as { success?: unknown };
  if (success === undefined || success === true) return 'error-200';
  return success === false ? 'success-false' : 'success-falsy';
}

function redirect(location: string, url: string): string {
  if (!URL.canParse(location, url)) return 'redirect-path';
  const [to, from] = [new URL(location, url), new URL(url)];
  if (to.host !== from.host) return 'redirect-host';
  // With the key in the query string, the path alone does not identify the request.
  return to.pathname === from.pathname ? 'redirect-loop' : 'redirect-path';
}

function retryAfterForm(header: string | string[] | undefined): '' | '-seconds' | '-date' {
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
