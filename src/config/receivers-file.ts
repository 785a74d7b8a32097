import { join } from 'node:path';
import { z } from 'zod';
import { SluiceError } from '../errors.ts';
import { isSecureUrl } from '../loopback.ts';
import { FORMS, isReceiverName, parsePattern, RECEIVERS_FILE, type Receiver } from '../receivers.ts';
import { replaceFile } from './changed-file.ts';
import { readSettingsFile } from './environment.ts';
import { isRecord, plainText } from './resource-settings.ts';

const RECEIVER = z
  .strictObject({
    name: z.string('a name such as crm').refine(isReceiverName, 'at most 40 of a-z, 0-9, _ and -, such as crm'),
    source: z.string('the name of a source, such as main'),
    url: z.string('an https:// address'),
    secret: z
      .string('whsec_ and 24 to 64 bytes in base64')
      .regex(/^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/, 'whsec_ and 24 to 64 bytes in base64')
      .optional(),
    on: z
      .array(
        z.string().refine(text => parsePattern(text) !== null, 'patterns such as invoices.updated, *.deleted or *.*'),
        'a list such as ["invoices.updated"]',
      )
      .min(1, 'a list such as ["invoices.updated"]'),
    where: z.string("SQL such as key = '17'").optional(),
    form: z.enum(FORMS, `one of ${FORMS.join(', ')}`).default('standard'),
    allowPrivate: z.boolean('true or false').default(false),
  })
  .refine(({ url, allowPrivate }) => isSecureUrl(url, allowPrivate), {
    path: ['url'],
    error: 'an https:// address without user and password (http:// only of this machine, with "allowPrivate": true)',
  })
  .refine(({ form, secret }) => form !== 'standard' || secret !== undefined, {
    path: ['secret'],
    error: 'whsec_ and 24 to 64 bytes in base64',
  });

/** Fields whose values no message may show: an address may hold a key, and a misspelt field anything. */
const SHOWN = new Set<unknown>(['name', 'source', 'on', 'form', 'allowPrivate']);

/** The receivers that the file in `directory` declares; none without it. Throws the kind `configuration` with all that is wrong. */
export function readReceivers(directory: string): Receiver[] {
  const list = readList(join(directory, RECEIVERS_FILE));
  const problems: string[] = [];
  const receivers = list.flatMap((entry, index) => {
    const { data, error } = RECEIVER.safeParse(entry);
    if (data) return [data];
    const name = isRecord(entry) && typeof entry.name === 'string' && isReceiverName(entry.name) ? entry.name : null;
    const place = `receiver ${index + 1}${name === null ? '' : ` (${name})`}`;
    problems.push(...error.issues.map(issue => `${place} ${describeIssue(issue, entry)}.`));
    return [];
  });
  const names = receivers.map(({ name }) => name);
  for (const name of new Set(names.filter((each, index) => names.indexOf(each) !== index)))
    problems.push(`two receivers have the name "${name}"; give each its own.`);
  if (problems.length > 0) throw wrongFile(problems.join('\n  '));
  return receivers;
}

function describeIssue(issue: z.core.$ZodIssue, entry: unknown): string {
  if (issue.code === 'unrecognized_keys')
    return `has the unknown field "${issue.keys[0]}"; expected one of ${Object.keys(RECEIVER.shape).join(', ')}`;
  const [field] = issue.path;
  if (field === undefined) return 'is not an object; expected one such as {"name": "crm", "source": "main", ..}';
  const value = isRecord(entry) ? entry[String(field)] : undefined;
  if (value === undefined) return `lacks ${String(field)}; expected ${issue.message}`;
  const found = SHOWN.has(field)
    ? `${String(field)} ${plainText(value).slice(0, 60)}`
    : `an invalid ${String(field)} (value hidden)`;
  return `has ${found}; expected ${issue.message}`;
}

function readList(path: string): readonly unknown[] {
  const { text, refused, code, isPublic } = readSettingsFile(path);
  if (refused !== null) throw wrongFile(`${refused}.`);
  if (isPublic) throw wrongFile(`every user of this machine may read it; to keep its secrets: chmod 600 ${path}`);
  if (code === 'ENOENT') return [];
  if (code !== null) throw wrongFile(`it cannot be read (${code}).`);
  try {
    const list: unknown = JSON.parse(text);
    if (Array.isArray(list)) return list;
  } catch {
    // The parser's own message quotes the text, which holds secrets.
  }
  throw wrongFile('it is no JSON list such as [{"name": "crm", "source": "main", ..}].');
}

const wrongFile = (problem: string): SluiceError =>
  new SluiceError('configuration', `${RECEIVERS_FILE} is not used: ${problem}`, {
    next: 'Correct the file; docs/notify.md shows one.',
  });

/** Kind `failed` if the file cannot be written. */
export const writeReceivers = (directory: string, receivers: readonly Receiver[]): void =>
  replaceFile(join(directory, RECEIVERS_FILE), `${JSON.stringify(receivers, null, 2)}\n`, 0o600);
