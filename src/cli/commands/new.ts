import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { SluiceError } from '../../errors.ts';
import { openClient } from '../../source/client.ts';
import { jobFile, migrationFile, type NewResource } from '../new/resource-files.ts';
import { sampleFields } from '../new/sample-fields.ts';
import { applyMigrations } from '../run/pending-migrations.ts';
import { newCommand } from '../session/new-command.ts';
import type { Cli, Session } from '../session/session.ts';
import { openLedger } from '../session/source-settings.ts';

export function newResourceCommand(cli: Cli): Command {
  return newCommand(
    'new',
    'Begin a list that Sluice does not read yet, in a clone of its repository',
    EXAMPLE,
  ).addCommand(
    newCommand('resource', 'Read one page of a list, and write a job and a migration for it', EXAMPLE)
      .argument('<path>', 'the path of the list, such as /api/v2/contracts')
      .action(cli.action({ source: true }, begin)),
  );
}

const EXAMPLE = 'sluice new resource /api/v2/contracts';
const SAMPLE_ROWS = 100;

async function begin(session: Session, path: string): Promise<0> {
  const { terminal, jobs } = session;
  const name = nameOf(path);
  if (jobs.has(name)) throw new SluiceError('usage', `There is a resource ${name} already: jobs/${name}.ts.`);
  const folder = process.cwd();
  for (const needed of ['jobs', 'migrations/warehouse', 'src/engine/job.ts'])
    if (!existsSync(join(folder, needed)))
      throw new SluiceError('usage', `${needed} is not here: a resource is added to a clone of the repository.`, {
        next: 'CONTRIBUTING.md says how to get one; then run this command in it.',
      });
  const rows = await readPage(session, name, path);
  const { fields, nested, odd } = sampleFields(rows);
  const resource: NewResource = { name, path, fields: fields.filter(field => field.name !== 'id') };
  const files = [
    { file: `jobs/${name}.ts`, text: jobFile(resource) },
    { file: `migrations/warehouse/${nextNumber(folder)}_${name}.ts`, text: migrationFile(resource) },
  ];
  for (const { file, text } of files) writeFileSync(join(folder, file), text, { flag: 'wx' });
  const kept = [...nested, ...odd];
  terminal.show({ resource: name, rows: rows.length, fields, kept, files: files.map(({ file }) => file) }, () =>
    [
      `${name}: ${fields.length} fields in ${rows.length} rows.`,
      ...files.map(({ file }) => `  written: ${file}`),
      ...(kept.length > 0 ? [`Kept in _extra, as they have no plain column: ${kept.join(', ')}.`] : []),
      '',
      'Read both files: the types follow from a sample, and the descriptions from the names. Then:',
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
  const { settings, clock, log, signal } = session;
  const { source, sourceName } = settings;
  if (!source) throw new SluiceError('configuration', 'No source is set.', { next: 'Set it: sluice init' });
  const database = await session.openDatabase();
  await applyMigrations(session, database);
  const budget = openLedger(database, sourceName, source);
  const client = openClient({ ...source, budget, noWait: true, clock, log });
  try {
    const context = { lane: 'live' as const, purpose: `new ${name}`, signal };
    const answer = await client.list(path, {}, { page: 1, limit: SAMPLE_ROWS }, context);
    if (answer.kind === 'rows' && answer.rows.length > 0) return answer.rows;
    throw new SluiceError('failed', `${path} shows no rows, so its fields are not known.`, {
      next: 'Check the path, or begin with a copy of jobs/orders.ts, which keeps each row whole.',
    });
  } finally {
    await client.close();
  }
}

function nextNumber(folder: string): string {
  const numbers = readdirSync(join(folder, 'migrations/warehouse')).map(file => Number(file.slice(0, 4)) || 0);
  return String(Math.max(...numbers) + 1).padStart(4, '0');
}
