import { isUtf8 } from 'node:buffer';

/** The text of a body. */
export interface BodyText {
  readonly text: string;
  /** A character that stands in `text` for each sequence of bytes that is invalid in its encoding, and for nothing else. */
  readonly mark?: string;
}

/**
 * Decodes a body as its `Content-Type` says. JSON is UTF-8 by its standard, and some sources name ISO-8859-1 by habit: what is valid UTF-8
 * is never taken for an encoding of single bytes, where the same bytes would make no sense. An unknown charset is taken for UTF-8.
 */
export function decodeText(bytes: Buffer, contentType: string | string[] | undefined): BodyText {
  const decoder = decoderFor(contentType);
  const isSingleByte = SINGLE_BYTE.test(decoder.encoding);
  if ((decoder.encoding === 'utf-8' || isSingleByte) && isUtf8(bytes)) return { text: bytes.toString('utf8') };
  const [aside, mark] = unusedIn(bytes);
  if (aside === undefined || mark === undefined) return { text: decoder.decode(bytes) };
  // U+FFFD as the source sent it would be mistaken for a replacement.
  const exact = decoder.encoding === 'utf-8' ? withAside(bytes, aside) : bytes;
  const decoded = decoder.decode(exact);
  const text = (decoder.encoding === 'windows-1252' ? decoded.replace(/[\u0080-\u009f]/g, windows1252) : decoded)
    .replaceAll('\ufffd', mark)
    .replaceAll(aside, '\ufffd');
  return text.includes(mark) ? { text, mark } : { text };
}

const SINGLE_BYTE = /^(?:windows-|iso-8859-|koi8|macintosh|x-mac|ibm)/;

const CHARSET = /;\s{0,20}charset\s{0,20}=\s{0,20}"?([^\s";]{1,40})/i;

function decoderFor(contentType: string | string[] | undefined): InstanceType<typeof TextDecoder> {
  const label = CHARSET.exec(beginning(String(contentType ?? '')))?.[1];
  try {
    return new TextDecoder(label ?? 'utf-8');
  } catch {
    return new TextDecoder('utf-8');
  }
}

/** Unicode reserves U+FDD0 to U+FDEF for use inside programs. */
const NONCHARACTERS = Array.from({ length: 32 }, (_, index) => String.fromCharCode(0xfdd0 + index));

/** Noncharacters that a body holds neither as they are nor escaped. */
function unusedIn(bytes: Buffer): string[] {
  const ascii = bytes.toString('latin1');
  return NONCHARACTERS.filter(each => {
    const escaped = new RegExp(`\\\\u${each.charCodeAt(0).toString(16)}`, 'i');
    return !bytes.includes(each) && !escaped.test(ascii);
  });
}

function withAside(bytes: Buffer, aside: string): Buffer {
  let at = bytes.indexOf('\ufffd');
  if (at < 0) return bytes;
  const changed = Buffer.from(bytes);
  // Both take three bytes.
  for (; at >= 0; at = bytes.indexOf('\ufffd', at + 3)) changed.write(aside, at);
  return changed;
}

/** What Node 20 decodes as ISO-8859-1, though the standard takes one for the other: its control characters are letters and marks. */
const C1 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';
const windows1252 = (control: string): string => C1[control.charCodeAt(0) - 0x80] ?? control;

const MOST_MATCHED = 4000;

/** What of a source's text is matched against expressions: enough for any message, too little to keep the process busy. */
export const beginning = (text: string): string => text.trimStart().slice(0, MOST_MATCHED);

/**
 * At most 300 characters of a source's message. Whole characters only, because Postgres stores no half of a surrogate pair. Remove the key
 * first: half a key would not be recognised.
 */
export function shorten(text: string): string {
  const short = text.length > 300 ? `${text.slice(0, 300)}…` : text;
  return short.toWellFormed();
}
