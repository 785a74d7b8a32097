import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { capitalized, isKind, SluiceError } from '../../errors.ts';
import { isObject } from '../../source/answers/json.ts';
import { BadValue, dateText, decimalText, integerText, stampText } from '../../source/answers/values.ts';
import { openMigrated } from '../run/pending-migrations.ts';
import { withClient } from '../run/source-client.ts';
import { type Cli, isOpen, newCommand, type Session } from '../session/session.ts';

export function newResourceCommand(cli: Cli): Command {
  return newCommand('new', EXAMPLE).addCommand(
    newCommand('resource', EXAMPLE)
      .description('Read one page of a list, and write a job for it')
      .argument('<path>', 'the path of the list, such as /api/v2/contracts')
      .action(cli.action({ source: true }, begin)),
  );
}

const EXAMPLE = 'sluice new resource /api/v2/contracts';
const SAMPLE_ROWS = 100;

async function begin(session: Session, path: string): Promise<0> {
  const { terminal, jobs, shell } = session;
  const name = nameOf(path);
  if (jobs.has(name)) throw new SluiceError('usage', `There is a resource ${name} already: jobs/${name}.ts.`);
  const folder = shell.cwd;
  for (const needed of ['jobs', 'src/engine/job.ts'])
    if (!existsSync(join(folder, needed)))
      throw new SluiceError('usage', `${needed} is not here: a resource is added to a clone of the repository.`, {
        next: 'CONTRIBUTING.md says how to get one; then run this command in it.',
      });
  const rows = await readPage(session, name, path);
  const { fields, nested, odd } = sampleFields(rows);
  const file = `jobs/${name}.ts`;
  writeFileSync(join(folder, file), jobFile(name, path, fields), { flag: 'wx' });
  const kept = [...nested, ...odd];
  terminal.show({ resource: name, rows: rows.length, fields, kept, files: [file] }, () =>
    [
      `${name}: ${fields.length} fields in ${rows.length} rows.`,
      `  written: ${file}`,
      ...(kept.length > 0 ? [`Kept in _extra, as they have no plain column: ${kept.join(', ')}.`] : []),
      '',
      'Read it: the types follow from a sample, and the descriptions from the names. Then:',
      '  npm run format && npm run build && npx vitest run test/jobs.contract.test.ts',
      `  npx sluice sync ${name}`,
    ].join('\n'),
  );
  return 0;
}

/** The table and the resource are called as the last part of the path. */
function nameOf(path: string): string {
  const name = (/\/([\w-]+)\/?$/.exec(path)?.[1] ?? '').replaceAll('-', '_').toLowerCase();
  if (path.startsWith('/') && /^[a-z]+(_[a-z]+)*$/.test(name)) return name;
  throw new SluiceError('usage', `"${path}" is not the path of a list.`, { next: `Example: ${EXAMPLE}` });
}

async function readPage(session: Session, name: string, path: string): Promise<readonly unknown[]> {
  const source = session.settings.single;
  if (!isOpen(source)) throw new SluiceError('configuration', 'No source is set.', { next: 'Set it: sluice init' });
  const database = await openMigrated(session);
  const context = { lane: 'live', purpose: `new ${name}`, signal: session.signal } as const;
  const answer = await withClient(session, { database, source, noWait: true }, async client => {
    try {
      return await client.list(path, {}, { limit: SAMPLE_ROWS }, context);
    } catch (error) {
      // Some sources accept certain limits only.
      if (isKind(error, 'refused')) return client.list(path, {}, {}, context);
      throw error;
    }
  });
  if (answer.kind === 'rows' && answer.rows.length > 0) return answer.rows;
  throw new SluiceError('failed', `${path} shows no rows, so its fields are not known.`, {
    next: 'Check the path, or begin with a copy of jobs/orders.ts, which keeps each row whole.',
  });
}

type FieldType = 'integer' | 'decimal' | 'date' | 'timestamp' | 'text';

const PLAIN = /^[a-z_][a-z0-9_]{0,62}$/;
const DIGITS = /^-?\d/;

/** The fields of these rows, in the order in which they first appear, each with the narrowest type that holds all its values. */
export function sampleFields(rows: readonly unknown[]) {
  const values = new Map<string, unknown[]>();
  for (const row of rows)
    if (isObject(row))
      for (const [name, value] of Object.entries(row)) values.set(name, [...(values.get(name) ?? []), value]);
  const named = [...values].filter(([name]) => PLAIN.test(name) && !name.startsWith('_'));
  const isNested = (all: readonly unknown[]) => all.some(value => typeof value === 'object' && value !== null);
  return {
    fields: named.filter(([, all]) => !isNested(all)).map(([name, all]) => ({ name, type: typeOf(all) })),
    // Fields that hold lists or objects: they are kept in `_extra`.
    nested: named.filter(([, all]) => isNested(all)).map(([name]) => name),
    // Names that no column can have.
    odd: [...values.keys()].filter(name => !PLAIN.test(name) || name.startsWith('_')),
  };
}

function typeOf(values: readonly unknown[]): FieldType {
  const known = values.filter(value => value !== null && value !== '');
  // A phone number or a postal code such as 01234 is text.
  const isNumber = (value: unknown) =>
    typeof value === 'number' || (typeof value === 'string' && !/^[+-]?0\d|^\+/.test(value));
  const all = (holds: (value: unknown) => boolean, read: (value: unknown) => string | null) =>
    known.length > 0 && known.every(value => holds(value) && reads(read, value));
  if (all(isNumber, integerText)) return 'integer';
  if (all(isNumber, decimalText)) return 'decimal';
  if (all(value => typeof value === 'string' && value.length === 10, dateText)) return 'date';
  if (all(value => typeof value === 'string' && DIGITS.test(value) && value.length > 10, stampText)) return 'timestamp';
  return 'text';
}

function reads(read: (value: unknown) => string | null, value: unknown): boolean {
  try {
    return read(value) !== null;
  } catch (error) {
    if (error instanceof BadValue) return false;
    throw error;
  }
}

const imported = (what: string, from: string): string => `import ${what} from '${from}';`;

/** The job of the list: `jobs/<name>.ts`. */
function jobFile(name: string, path: string, sampled: readonly { name: string; type: FieldType }[]): string {
  const fields = sampled.filter(field => field.name !== 'id');
  const types = [...new Set(['integer', ...fields.map(({ type }) => type)])].sort();
  return `${imported('{ z }', 'zod')}
${imported(`{ defineJob, idRange, ${types.join(', ')} }`, '../src/engine/job.ts')}

export default defineJob({
  path: '${path}',
  description: 'One of the ${name}.',
  key: 'id',
  record: z.object({
    id: integer('The id at the source; null if it gives none.'),
${fields.map(field => `    ${field.name}: ${field.type}('${capitalized(field.name.replaceAll('_', ' '))}.'),\n`).join('')}  }),
  slicings: [idRange()],
});
`;
}
