import { DAY, HOUR, stampMs } from '../../clock.ts';

/** A value that was replaced, as Postgres writes it. */
export interface Replaced {
  readonly key: string;
  readonly before: string;
  readonly after: string;
}

/** The share of the stored values of a field that people may replace within 24 hours without being asked. */
export const USUAL_SHARE = 0.25;

/** So many replaced values are announced, however few are stored. */
const FEWEST = 20;

/** The most of `stored` values that may be replaced within 24 hours before somebody is told. */
export const rewriteLimitOf = (stored: number, share: number = USUAL_SHARE): number =>
  share >= 1 ? Number.POSITIVE_INFINITY : Math.max(FEWEST - 1, Math.floor(stored * share));

/** Most of the pairs must fit: honest edits come in between. */
const MOST = 0.9;

/** What the replaced values look like, as the end of "It looks like"; null where nothing is common to them. */
export function lookOf(pairs: readonly Replaced[]): string | null {
  if (pairs.length === 0) return null;
  const most = (holds: (pair: Replaced) => boolean) => pairs.filter(holds).length >= MOST * pairs.length;
  const [value, times] = commonest(pairs.map(({ after }) => after));
  if (times >= MOST * pairs.length)
    return STAND_INS.test(value) ? `${quoted(value)} in place of values` : `one value for all: ${quoted(value)}`;
  if (most(({ after }) => MASKED.test(after))) return 'masked values';
  return (
    changedBy(pairs) ??
    LOOKS.find(({ holds }) => most(holds))?.look ??
    (areSwapped(pairs) ? 'values of other rows' : null)
  );
}

/** What systems write where there is nothing, or where they do not want to say. */
const STAND_INS = /^(?:[-–—.?*x0 ]*|n\/?a|null|none|nil|undefined|unknown|hidden|redacted|#[a-z/]+!?|0[.:/0-]*)$/i;
const MASKED = /[*•●]{2,}|x{3,}|\[?redacted\]?/i;

const LOOKS: readonly { readonly look: string; readonly holds: (pair: Replaced) => boolean }[] = [
  { look: 'text of another encoding', holds: ({ before, after }) => isMisencoded(before, after) },
  { look: 'text that was cut off', holds: ({ before, after }) => isCut(before, after) },
  {
    look: 'other capital letters',
    holds: ({ before, after }) => before.toLocaleLowerCase() === after.toLocaleLowerCase(),
  },
  { look: 'other blanks', holds: ({ before, after }) => withoutBlanks(before) === withoutBlanks(after) },
];

const withoutBlanks = (text: string): string => text.replaceAll(/\s/gu, '');

const isCut = (before: string, after: string): boolean => {
  const kept = after.replace(/(?:…|\.{2,3})$/u, '').trimEnd();
  return kept.length < before.length && before.startsWith(kept);
};

/** UTF-8 that was read as a single-byte encoding, the reverse of that, or characters that an encoding lacks. */
function isMisencoded(before: string, after: string): boolean {
  if (after.includes('\uFFFD')) return true;
  const bytes = (text: string) => Buffer.from(text, 'utf8');
  const reads = [(text: string) => bytes(text).toString('latin1'), (text: string) => WINDOWS_1252.decode(bytes(text))];
  if (reads.some(read => read(before) === after || read(after) === before)) return true;
  return /\P{ASCII}/u.test(before) && before.replaceAll(/\P{ASCII}/gu, '') === after.replaceAll('?', '');
}

const WINDOWS_1252 = new TextDecoder('windows-1252');

/** Numbers by one factor, or dates by one distance. */
function changedBy(pairs: readonly Replaced[]): string | null {
  const factors = pairs.map(({ before, after }) => factorOf(before, after));
  const [factor, alike] = commonest(factors);
  if (factor !== '' && factor !== '1' && alike >= MOST * pairs.length) return `${factor} times the value`;
  const distances = pairs.map(({ before, after }) => distanceOf(before, after));
  const [distance, same] = commonest(distances);
  return distance !== '' && same >= MOST * pairs.length ? distance : null;
}

const NUMBER = /^-?\d+(?:\.\d+)?$/;

/** To four digits, so that rounded amounts have one factor; '' where it has none. */
function factorOf(before: string, after: string): string {
  if (!NUMBER.test(before) || !NUMBER.test(after) || Number(before) === 0 || Number(after) === 0) return '';
  return String(Number((Number(after) / Number(before)).toPrecision(4)));
}

/** Two shapes only: a date, and a time stamp of Postgres. */
const MOMENT = /^\d{4}-\d\d-\d\d(?: \d\d:\d\d:\d\d(?:\.\d+)?(?:[+-]\d\d(?::?\d\d)?)?)?$/;

function distanceOf(before: string, after: string): string {
  if (!MOMENT.test(before) || !MOMENT.test(after)) return '';
  // Without a time, the end of a date would be taken for a zone.
  const msOf = (text: string) => (text.length === 10 ? Date.parse(text) : stampMs(text));
  const ms = msOf(after) - msOf(before);
  if (!Number.isFinite(ms) || ms === 0) return '';
  const [unit, name] = ms % DAY === 0 ? [DAY, 'day'] : [HOUR, 'hour'];
  const many = Number((Math.abs(ms) / unit).toFixed(2));
  return `moments ${many} ${name}${many === 1 ? '' : 's'} ${ms > 0 ? 'later' : 'earlier'}`;
}

/** Most of the new values are old ones of other rows, and those are several. */
function areSwapped(pairs: readonly Replaced[]): boolean {
  const before = new Set(pairs.map(pair => pair.before));
  return (
    before.size >= pairs.length / 2 && pairs.filter(({ after }) => before.has(after)).length >= MOST * pairs.length
  );
}

function commonest(texts: readonly string[]): [text: string, times: number] {
  const times = new Map<string, number>();
  for (const text of texts) times.set(text, (times.get(text) ?? 0) + 1);
  return [...times].reduce((most, each) => (each[1] > most[1] ? each : most), ['', 0]);
}

const LONGEST = 40;

/** A value as messages quote it. */
export const quoted = (value: string): string =>
  JSON.stringify(value.length > LONGEST ? `${value.slice(0, LONGEST)}…` : value);
