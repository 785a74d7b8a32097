import { readdirSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import customers from '../../jobs/customers.ts';
import { sampleFields } from '../../src/cli/lists/sample-fields.ts';
import { json, ndjson, queryExpanded, queryTable } from '../../src/cli/output/query-formats.ts';
import { marksOf } from '../../src/cli/run/person-marks.ts';
import { PLAIN } from '../../src/cli/session/terminal.ts';
import { HOUR } from '../../src/clock.ts';
import { lookOf, quoted } from '../../src/engine/deletion/rewrite.ts';
import { deletionMark } from '../../src/engine/profile/observe-address.ts';
import { createSecretFilter } from '../../src/engine/records/drop-secrets.ts';
import { createRecordParser } from '../../src/engine/records/parse-record.ts';
import { isSecretName } from '../../src/engine/records/secret-names.ts';
import { jsonText, plainText, rowText } from '../../src/engine/storable-text.ts';
import { createLog, hideSecrets } from '../../src/log.ts';
import { shellWord } from '../../src/next-steps.ts';
import { findSimilarRows } from '../../src/push/match-rows.ts';
import { parseBatch, parseRefusedEntries } from '../../src/push/parse-response.ts';
import { commandsIn } from '../../src/service/console/elements.ts';
import { isoTimes, parseDuration } from '../../src/service/format.ts';
import { csv, csvSafe } from '../../src/service/query/csv.ts';
import { changeHintsIn } from '../../src/service/webhooks/change-hints.ts';
import { classify } from '../../src/source/answers/classify.ts';
import { deniesSuccess, holdsError } from '../../src/source/answers/envelope.ts';
import { asList, parseJson } from '../../src/source/answers/json.ts';
import { parseRateHeaders, refusalOf } from '../../src/source/answers/rate-limit.ts';
import { decodeText } from '../../src/source/answers/text.ts';
import { dateText, decimalText, integerText, stampText } from '../../src/source/answers/values.ts';
import { readMeta } from '../../src/source/paging/page-count.ts';
import { visibleJson, visibleLines, visibleText } from '../../src/visible-text.ts';
import { conditionsIn } from '../../src/warehouse/reports/explain-query.ts';
import { some } from '../support/long.ts';

const known = { nowMs: Date.UTC(2026, 0, 15), windowMs: HOUR, unused: 1 };
const answer = (status: number, text: string, headers = {}) => classify({ status, headers, text }, 'record', known);

const parseCustomer = createRecordParser(customers, { hashed: true, contentKeyed: false });
const NO_FIELDS = { own: new Set<string>(), items: new Map() };
const NOWHERE = { write: () => true } as unknown as NodeJS.WritableStream;

/** The functions that apply regular expressions to a source's text, by their file below `src`. */
const FED: Record<string, readonly ((text: string) => unknown)[]> = {
  'next-steps.ts': [shellWord],
  'source/answers/classify.ts': [
    text => answer(302, '', { location: text }),
    text => classify({ status: 200, headers: {}, text: JSON.stringify({ data: null, message: text }) }, 'list', known),
  ],
  'source/answers/envelope.ts': [
    deniesSuccess,
    holdsError,
    text => answer(200, text),
    text => answer(400, text),
    text => answer(503, text),
    text => answer(200, JSON.stringify({ success: false, message: text })),
    text => answer(400, JSON.stringify({ message: text })),
    text => answer(400, JSON.stringify({ message: 'Invalid', errors: { [text]: text } })),
  ],
  'source/answers/json.ts': [
    text => tried(() => parseJson(text)),
    text => tried(() => parseJson(`[${JSON.stringify(text)}, 12345678901234567890]`)),
    text => tried(() => parseJson(`{"n": ${text}}`)),
    text => asList({ [text]: 1 }),
  ],
  'source/answers/rate-limit.ts': [
    text => refusalOf({}, text, 1),
    text => parseRateHeaders({ 'retry-after': text }, known),
    text => parseRateHeaders({ 'x-ratelimit-remaining': text }, known),
  ],
  'source/answers/text.ts': [
    text => decodeText(Buffer.from(text), `application/json${text}`),
    text => decodeText(Buffer.from(`${text}\u00ff`, 'latin1'), `application/json; charset=${text}`),
    text => decodeText(Buffer.from(`${text}\u0080`, 'latin1'), 'text/plain; charset=iso-8859-1'),
  ],
  'source/answers/values.ts': [decimalText, integerText, dateText, stampText].map(
    read => (text: string) => tried(() => read(text)),
  ),
  'source/paging/page-count.ts': [text => readMeta({ total_records: text })],
  'cli/run/person-marks.ts': [text => marksOf([{ email: text, phone: text, name: text }, text])],
  'engine/records/drop-secrets.ts': [
    text => createSecretFilter([], NO_FIELDS)({ note: text }),
    text => createSecretFilter([text.slice(0, 200)], NO_FIELDS)({ [text]: { [text]: text } }),
  ],
  'engine/records/parse-record.ts': [text => parseCustomer({ id: text }, '2026-01-15T10:00:00Z')],
  'engine/records/secret-names.ts': [isSecretName],
  'log.ts': [text => createLog({ level: 'info', hide: hideSecrets(['secret']), destination: NOWHERE }).info(text)],
  'visible-text.ts': [visibleText, visibleLines, text => visibleJson(JSON.stringify(text))],
  'engine/deletion/rewrite.ts': [
    text => lookOf([{ key: '1', before: text, after: `${text}.` }]),
    text => lookOf([{ key: '1', before: `${text}.`, after: text }]),
    quoted,
  ],
  'engine/storable-text.ts': [plainText, text => jsonText([text]), text => tried(() => rowText({ [text]: 1 }))],
  'engine/profile/observe-address.ts': [text => deletionMark({ [text]: 1 })],
  'push/parse-response.ts': [
    text => parseRefusedEntries({ [text]: '' }, 5),
    text => parseBatch({ data: [{ success: false, errors: text }] }, 1),
    text => parseBatch({ data: [{ success: true, id: text }] }, 1),
  ],
  'push/match-rows.ts': [
    text =>
      findSimilarRows(
        customers,
        [],
        [{ id: '1', body: { address: 'Ann' }, lastId: null, lastAt: null }],
        [{ id: '2', key: '2', storedAt: '', row: { id: 2, address: text } }],
      ),
  ],
  'service/webhooks/change-hints.ts': [
    text => changeHintsIn(text, new Map([['customers', customers]])),
    text => changeHintsIn(JSON.stringify({ event: text, id: text }), new Map([['customers', customers]])),
  ],
  'service/console/elements.ts': [commandsIn],
  'service/format.ts': [text => isoTimes(text), text => isoTimes({ [text]: 1 }), parseDuration],
  'warehouse/reports/explain-query.ts': [
    text => conditionsIn(text, 't'),
    text => conditionsIn(`(t.a = '${text}'::text)`, 't'),
  ],
  'cli/lists/sample-fields.ts': [text => sampleFields([{ [text]: text, name: text }])],
  'service/query/csv.ts': [csv, csvSafe].map(
    create => (text: string) => create().write([{ name: 'amount', oid: 1700 }], [[text]]),
  ),
  'cli/output/query-formats.ts': [
    ...[json, ndjson].map(create => (text: string) => create().write([{ name: 'amount', oid: 1700 }], [[text]])),
    ...[80, null].map(
      width => (text: string) => queryTable({ colors: PLAIN, width }).write([{ name: 'x', oid: 25 }], [[text]]),
    ),
    text => queryExpanded(PLAIN).write([{ name: 'x', oid: 25 }], [[text]]),
  ],
};

/** Files with regular expressions that no text of a source meets, and what their expressions are applied to. */
const UNFED: Record<string, string> = {
  'config/': 'settings',
  'cli/commands/': 'arguments, and for init a file of the user',
  'cli/program.ts': 'arguments',
  'cli/push/': 'the file that is pushed',
  'cli/output/dbt-sources.ts': 'names of columns, which are ours or declared',
  'cli/output/seal-file.ts': 'digests of a file, each of 64 characters',
  'cli/output/warehouse-types.ts': 'names and types of columns, which are ours or declared',
  'cli/session/': 'settings, arguments and the names of jobs',
  'service/schedule/schedule.ts': 'schedules of settings and jobs',
  'service/status/describe-profile.ts': 'names of traits, which are ours',
  'embedded-postgres/': 'paths of this machine',
  'errors.ts': 'one character',
  'clock.ts': 'timestamps of Postgres',
  'loopback.ts': 'a host name of the settings',
  'engine/apply/bad-data.ts': 'an SQLSTATE',
  'engine/slices/': 'slices and ids, as we write them',
  'service/console/console-parts.ts': 'a part of an address',
  'service/console/tables.ts': 'names of types',
  'service/answers/': 'conditions of the query that a person runs, as Postgres writes them',
  'receivers.ts': 'settings',
  'service/notify/post.ts': 'an address of the settings, and a header of at most nine digits',
  'service/notify/private-address.ts': 'our own list of networks',
  'service/orders/': 'days that a person names',
  'service/record/': 'ids, as they are stored',
  'warehouse/erasure/traces.ts': 'a key that a person names',
  'warehouse/rows/tables.ts': 'a key that a person names',
  'service/access/': 'a path and a header of a browser',
  'source/api/': 'what is sent to the source',
  'source/paging/row-key.ts': 'keys of records, as we write them',
  'source/http/address.ts': 'settings',
  'source/http/exchange.ts': 'codes of Node',
  'source/paging/stable-reading.ts': 'ids, which values.ts has read',
  'warehouse/database/': 'names of migrations',
  'warehouse/ledgers/sources.ts': 'an address of the settings',
  'warehouse/ledgers/stored-keys.ts': 'keys of records, at most 15 digits',
  'warehouse/erasure/erase-row.ts': 'a literal, matched by Postgres',
  'warehouse/reports/read-query.ts': 'the query of the person who runs it',
};

const PUMPED = [
  ...[' ', '\n', '0', '1', 'a', '"', '\\', '.', '&', ',', '[', ';', 'é', '\ud800'],
  ...['invalid ', 'key ', 'not valid', 'max', 'concurren', 'too many ', 'connections ', 'no '],
  ...[
    '\\u',
    '\\"',
    '.1',
    '[1',
    '1e',
    '&a',
    ';charset',
    '; charset = ',
    '+00',
    'a=',
    '\u0301\u0316',
    '\r\n',
    '__proto__',
  ],
];

/** Repetitions, and near misses: what begins like a match and fails at its end. */
const SHAPES: ((size: number) => string)[] = [
  ...PUMPED.map(each => (size: number) => `${each.repeat(size / Buffer.byteLength(each))}\u0000!`),
  ...PUMPED.slice(0, 8).map(each => (size: number) => each.repeat(size)),
  size => `1${'0'.repeat(size)}1`,
  size => `0.1${'0'.repeat(size)}1`,
  size => `-0.${'0'.repeat(size / 2)}1${'0'.repeat(size / 2)}1`,
  size => `1${'0'.repeat(size)}e-${size}`,
  size => `false${' '.repeat(size)}x`,
  size => `true${'\n'.repeat(size)}x`,
  size => `12${' '.repeat(size)}x`,
  size => `2026-01-15T10:00:00.${'1'.repeat(size)}x`,
  size => `2026-01-15T10:00${' '.repeat(size)}x`,
  size => `${'.1'.repeat(size / 2)}\nx`,
  size => `Invalid ${'a '.repeat(size / 2)}`,
  size => `${'token '.repeat(size / 6)}.`,
];

const KIB = 1024;
/** Ample for 64 KiB: none takes 50 ms on an idle machine. A quadratic expression that takes minutes at 1 MiB fails here. */
const MOST_MS = 500;
/** So many of the slowest shapes are tried at 1 MiB; one that takes quadratic time is the slowest at 64 KiB already. */
const SLOWEST = 2;
/** A shorter time says nothing of its growth. */
const NOTICED_MS = 3;

const cases = Object.entries(FED).flatMap(([file, reads]) => reads.map((read, index) => ({ file, index, read })));

it.each(some(cases, 8))('$file reads 1 MiB of hostile text in linear time ($index)', ({ read }) => {
  const took = (shape: (size: number) => string, size: number, enoughMs: number) =>
    leastMs(() => read(shape(size * KIB)), enoughMs);
  const measured = SHAPES.map(shape => {
    const shown = JSON.stringify(shape(16));
    expect(took(shape, 16, MOST_MS), `ms for 16 KiB of ${shown}`).toBeLessThan(MOST_MS);
    const some = took(shape, 64, MOST_MS);
    expect(some, `ms for 64 KiB of ${shown}`).toBeLessThan(MOST_MS);
    return { shape, shown, some };
  });
  for (const { shape, shown, some } of measured.toSorted((a, b) => b.some - a.some).slice(0, SLOWEST)) {
    // Eight times what linear growth takes, half of what quadratic growth does. Only the growth counts: a busy machine is slow at both sizes.
    const most = 8 * 16 * Math.max(some, NOTICED_MS);
    expect(took(shape, 1024, most), `ms for 1 MiB of ${shown}, after ${some} for 64 KiB`).toBeLessThan(most);
  }
});

it('a page of numbers with large exponents costs no more than their digits', () => {
  const values = Array.from({ length: 10_000 }, (_, index) => `${index}e-999`);
  expect(leastMs(() => values.map(decimalText), MOST_MS)).toBeLessThan(MOST_MS);
});

it('every file with a regular expression is listed here, with the functions that meet hostile text or the reason why none does', () => {
  const root = fileURLToPath(new URL('../../src/', import.meta.url));
  const files = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry => relative(root, `${entry.parentPath}/${entry.name}`));
  const withExpressions = files.filter(file => hasExpression(readFileSync(`${root}${file}`, 'utf8')));
  expect(withExpressions.length).toBeGreaterThan(30);
  const listed = (file: string) => file in FED || Object.keys(UNFED).some(place => file.startsWith(place));
  expect(withExpressions.filter(file => !listed(file))).toEqual([]);
  expect(Object.keys(FED).filter(file => !withExpressions.includes(file))).toEqual([]);
  expect(Object.keys(UNFED).filter(place => !withExpressions.some(file => file.startsWith(place)))).toEqual([]);
});

/** A literal begins where no division can stand. Comments do too, but hold no `/` that ends like a literal. */
function hasExpression(text: string): boolean {
  const code = text
    .replace(/^#!.*/, '')
    .replaceAll(/^\s*(?:\/?\*|\/\/).*$/gm, '')
    .replaceAll(/ \/\/ .*$/gm, '');
  return /new RegExp\(|(?:[=(,?:!&|[]|=>)\s*\/(?![*/ ])(?:[^\n\\/[]|\\.|\[(?:[^\n\\\]]|\\.)*\])+\/[dgimsuvy]*/.test(
    code,
  );
}

/** The least CPU time of up to ten runs: other programs, the compiler and the collector only ever make one longer. */
function leastMs(work: () => unknown, enoughMs: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 10 && least >= enoughMs; run++) {
    const [startedMs, started] = [performance.now(), process.cpuUsage()];
    work();
    const { user, system } = process.cpuUsage(started);
    least = Math.min(least, performance.now() - startedMs, (user + system) / 1000);
  }
  return least;
}

function tried(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
