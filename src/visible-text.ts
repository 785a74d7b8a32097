/**
 * Makes visible what a terminal would obey or hide: control characters, among them those of cursors, colours and C1, and characters
 * that change the direction of text or take no place (Unicode's format characters, line and paragraph separators). Text of a source
 * can hold all of them, to rewrite the screen or to look like something else.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const INVISIBLE_IN_LINES = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/gu;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** On one line: `\n`, `\t`, `\x1b`, `\u202e` and `\u{e0041}` stand for such characters. */
export const visibleText = (text: string): string => text.replace(INVISIBLE, escaped);

/** As `visibleText`, and lines remain lines. */
export const visibleLines = (text: string): string => text.replace(INVISIBLE_IN_LINES, escaped);

/** JSON with the same meaning: such characters, which only its strings contain, as JSON's own escapes. */
export const visibleJson = (json: string): string => json.replace(INVISIBLE_IN_LINES, jsonEscaped);

function escaped(character: string): string {
  const short = SHORT[character];
  if (short !== undefined) return short;
  const code = (character.codePointAt(0) as number).toString(16);
  if (code.length <= 2) return `\\x${code.padStart(2, '0')}`;
  return code.length <= 4 ? `\\u${code.padStart(4, '0')}` : `\\u{${code}}`;
}

const jsonEscaped = (character: string): string =>
  character
    .split('')
    .map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
