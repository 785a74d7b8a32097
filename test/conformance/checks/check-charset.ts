import { type Finding, observed, undetermined } from '../findings/finding.ts';
import type { Requester } from '../requests/requester.ts';

/** The encoding of the answers, as far as they hold anything but ASCII; sends no requests. */
export function checkCharset({ answers }: Requester): Finding {
  const telling = answers.filter(({ verdict, text }) => verdict.kind === 'success' && /[^\0-\u007f]/.test(text));
  if (telling.length === 0) return undetermined('charset', 'no answer holds anything but ASCII');
  const broken = telling.filter(({ verdict }) => verdict.kind === 'success' && verdict.replaced !== undefined);
  if (broken.length > 0)
    return observed('charset', 'broken', `${broken.length} of ${telling.length} answers hold bytes that are not UTF-8`);
  const type = telling.map(({ headers }) => String(headers['content-type'])).find(each => !isUtf8(each));
  if (type !== undefined) return observed('charset', 'latin1', `Content-Type: ${type}`);
  return observed('charset', 'utf-8', `all ${telling.length} answers beyond ASCII are valid UTF-8`);
}

const isUtf8 = (type: string): boolean => !/charset/i.test(type) || /charset\s*=\s*"?utf-?8/i.test(type);
