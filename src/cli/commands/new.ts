import type { Command } from 'commander';
import { withChangedFile } from '../../config/changed-file.ts';
import { isListName, isPath } from '../../config/list-files.ts';
import { isSecretName, plainName } from '../../engine/records/secret-names.ts';
import { capitalized, isKind, SluiceError } from '../../errors.ts';
import { changeListFile } from '../lists/list-file.ts';
import { sampleFields } from '../lists/sample-fields.ts';
import { openMigrated } from '../run/pending-migrations.ts';
import { withClient } from '../run/source-client.ts';
import { type Cli, isOpen, newCommand, type Session } from '../session/session.ts';

export function command(cli: Cli): Command {
  return newCommand('new', EXAMPLE).addCommand(
    newCommand('resource', EXAMPLE)
      .description('Read one page of a list that Sluice does not know, and declare it in lists/')
      .argument('<path>', 'the path of the list, such as /api/v2/contracts')
      .action(cli.action({ source: true }, begin)),
  );
}

const EXAMPLE = 'sluice new resource /api/v2/contracts';
const SAMPLE_ROWS = 100;

async function begin(session: Session, path: string): Promise<0> {
  const { terminal, jobs } = session;
  const name = nameOf(path);
  const known = jobs.get(name);
  if (known)
    throw new SluiceError(
      'usage',
      `There is a resource ${name} already${known.listFile ? `: ${known.listFile}` : ''}.`,
      { next: `Its fields: sluice fields ${name}` },
    );
  const rows = await readPage(session, name, path);
  const { fields, nested, odd } = sampleFields(rows);
  const dropped = new Set(session.settings.single.never.map(plainName));
  const isDropped = (field: string) => isSecretName(field) || dropped.has(plainName(field));
  const declared = declare(
    path,
    fields.filter(field => !isDropped(field.name)),
  );
  const { file, ...change } = changeListFile(session, name, () => declared);
  await withChangedFile(change, () => session.reload());
  const kept = [...nested, ...odd].filter(field => !isDropped(field));
  const never = fields.map(field => field.name).filter(isDropped);
  const types = Object.entries(declared.fields).map(([field, { type }]) => ({ name: field, type }));
  terminal.show({ resource: name, rows: rows.length, fields: types, kept, never, files: [file] }, () =>
    [
      `${name}: ${types.length} fields in ${rows.length} rows.`,
      `  written: ${file}`,
      ...(kept.length > 0 ? [`Kept in _extra, as they have no plain column: ${kept.join(', ')}.`] : []),
      ...(never.length > 0 ? [`Never stored: ${never.join(', ')}.`] : []),
      '',
      'Read it: the types follow from a sample, and the descriptions from the names. Then:',
      `  sluice sync ${name}`,
    ].join('\n'),
  );
  return 0;
}

/** Ordered by id if its ids are numbers; else it is read whole. */
function declare(path: string, sampled: ReturnType<typeof sampleFields>['fields']) {
  const isText = sampled.some(({ name, type }) => name === 'id' && type === 'text');
  const others = sampled.filter(({ name }) => name !== 'id');
  const wordsOf = (name: string) => `${capitalized(name.replaceAll('_', ' '))}.`;
  return {
    path,
    description: '',
    key: 'id',
    fields: Object.fromEntries([
      ['id', { type: isText ? 'text' : 'integer', description: 'The id at the source; null if it gives none.' }],
      ...others.map(({ name, type }) => [name, { type, description: wordsOf(name) }] as const),
    ]) as Record<string, { type: string; description: string }>,
    slicings: isText ? [] : [{ by: 'id' }],
  };
}

/** The table and the resource are called as the last part of the path. */
function nameOf(path: string): string {
  const name = (/\/([\w-]+)\/?$/.exec(path)?.[1] ?? '').replaceAll('-', '_').toLowerCase();
  if (isPath(path) && isListName(name)) return name;
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
    next: 'Check the path. A file in lists/ with a field of type row keeps each row whole: docs/lists.md',
  });
}
