import { capitalized } from '../../errors.ts';
import type { FieldType, SampledField } from './sample-fields.ts';

export interface NewResource {
  readonly name: string;
  readonly path: string;
  /** Without the key. */
  readonly fields: readonly SampledField[];
}

const COLUMN: Readonly<Record<FieldType, string>> = {
  integer: 'bigint',
  decimal: 'numeric',
  date: 'date',
  timestamp: 'timestamptz',
  text: 'text',
};

const imported = (what: string, from: string): string => `import ${what} from '${from}';`;

/** The job of the list: `jobs/<name>.ts`. */
export function jobFile({ name, path, fields }: NewResource): string {
  const types = [...new Set(['integer', ...fields.map(({ type }) => type)])].sort();
  return `${imported('{ z }', 'zod')}
${imported(`{ defineJob, idRange, ${types.join(', ')} }`, '../src/engine/job.ts')}

export default defineJob({
  path: '${path}',
  description: 'One of the ${name}.',
  key: 'id',
  record: z.object({
    id: integer('The id at the source; null if it gives none.'),
${fields.map(field => `    ${field.name}: ${field.type}('${wordsOf(field.name)}.'),\n`).join('')}  }),
  slicings: [idRange()],
});
`;
}

/** The migration that creates its table: `migrations/warehouse/<number>_<name>.ts`. */
export const migrationFile = ({ name, fields }: NewResource): string => `${imported('type { Kysely }', 'kysely')}
${imported('{ createHistoryView }', '../create-history-view.ts')}

export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;

  await schema
    .createTable('${name}')
    .addColumn('_key', 'text', column => column.primaryKey())
    .addColumn('id', 'bigint')
${fields.map(field => `    .addColumn('${field.name}', '${COLUMN[field.type]}')\n`).join('')}    .addColumn('_extra', 'jsonb')
    .addColumn('_synced_at', 'timestamptz', column => column.notNull())
    .addColumn('_read_at', 'timestamptz', column => column.notNull())
    .execute();
  await schema.createIndex('${name}_id').on('${name}').column('id').execute();
  await schema.createIndex('${name}_synced').on('${name}').column('_synced_at').execute();
  await createHistoryView(db, '${name}');
}
`;

const wordsOf = (name: string): string => capitalized(name.replaceAll('_', ' '));
