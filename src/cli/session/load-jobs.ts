import { readdir } from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { z } from 'zod';
import {
  type DeclaredField,
  FIELD_TYPES,
  type FieldType,
  type ListFile,
  type MoreFields,
  type OwnList,
} from '../../config/list-files.ts';
import {
  childShape,
  columnTypeOf,
  date,
  decimal,
  defineJob,
  integer,
  type Job,
  list,
  text,
  timestamp,
  wholeRow,
  wholeRowOf,
} from '../../engine/job.ts';
import { isSecretName } from '../../engine/records/secret-names.ts';
import { SluiceError } from '../../errors.ts';
import { historyViewOf } from '../../warehouse/database/declared-table.ts';

/** The jobs declared in `folder`, one per file; the file name is the resource. */
export async function loadJobs(folder: URL): Promise<Map<string, Job>> {
  const path = fileURLToPath(folder);
  const files = (await readdir(path)).filter(file => /^[a-z][a-z0-9_]*\.(ts|js)$/.test(file)).sort();
  const jobs = new Map<string, Job>();
  for (const file of files) {
    const loaded = (await import(pathToFileURL(`${path}/${file}`).href)) as { default?: Partial<Job> };
    const job = loaded.default;
    if (!job?.path || !job.record || !job.slicings) {
      throw new SluiceError('failed', `${path}/${file} does not export a job as its default.`, {
        next: 'Add: export default defineJob({ .. }).',
      });
    }
    jobs.set(file.slice(0, -3), job as Job);
  }
  return jobs;
}

/**
 * The jobs with what the files in `lists/` declare, in alphabetical order. Throws the kind `configuration` for a file that contradicts a job
 * or another file.
 */
export function withListFiles(jobs: ReadonlyMap<string, Job>, files: readonly ListFile[]): Map<string, Job> {
  const all = new Map(jobs);
  for (const file of files) {
    const job = jobs.get(file.name);
    if (file.declares === 'list') all.set(file.name, jobOf(file.file, file.list));
    else if (job) all.set(file.name, extendJob(file.name, job, file.more));
  }
  const owners = new Map(['row_history', 'change_log', 'changes'].map(name => [name, 'Sluice']));
  for (const [name, { children }] of all)
    for (const table of [name, historyViewOf(name), ...Object.values(children).map(child => child.table)]) {
      const other = owners.get(table);
      if (other !== undefined)
        throw contradiction(all.get(name), `The tables of ${other} and ${name} are both called "${table}".`);
      owners.set(table, name);
    }
  return new Map([...all].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const contradiction = (job: Job | undefined, message: string): SluiceError =>
  new SluiceError('configuration', message, {
    next: `Correct ${job?.listFile ?? 'the files in lists/'}. Nothing was started.`,
  });

const TYPES: Readonly<Record<FieldType, (description?: string) => z.ZodType>> = {
  text,
  integer,
  decimal,
  date,
  timestamp,
  row: wholeRow,
};

/** The type of a field whose column has this one; undefined if a file declares none such. */
export const fieldTypeOf = (column: string): FieldType | undefined =>
  FIELD_TYPES.find(type => columnTypeOf(TYPES[type]()) === column);

const shapeOf = (fields: Readonly<Record<string, DeclaredField>>): z.ZodRawShape =>
  Object.fromEntries(Object.entries(fields).map(([name, { type, description }]) => [name, TYPES[type](description)]));

function jobOf(file: string, { fields, children, ...said }: OwnList): Job {
  const inner = Object.entries(children).map(([field, child]) => [field, list(z.object(shapeOf(child.fields)))]);
  const job = defineJob({
    ...said,
    record: z.object({ ...shapeOf(fields), ...Object.fromEntries(inner) }),
    children: Object.fromEntries(
      Object.entries(children).map(([field, { table, parent, description }]) => [
        field,
        { table, parent, description },
      ]),
    ),
    listFile: file,
    tolerated: toleratedIn({ fields, children }).filter(name => name !== said.key),
  });
  for (const name of toleratedIn({ fields, children })) refuseSecret(job, name);
  return job;
}

/** The names of the fields; those of a list inside as `lines.price`. */
const toleratedIn = ({ fields, children }: MoreFields): string[] => [
  ...Object.keys(fields),
  ...Object.entries(children).flatMap(([list, child]) => Object.keys(child.fields).map(name => `${list}.${name}`)),
];

/** The job of a list that Sluice knows, with more fields. */
export function extendJob(name: string, job: Job, more: MoreFields): Job {
  const file = `lists/${name}.json`;
  const extended = { ...job, listFile: file, tolerated: [...job.tolerated, ...toleratedIn(more)] };
  const whole = wholeRowOf(job);
  if (whole !== undefined)
    throw contradiction(
      extended,
      `${file} adds fields to ${name}, which keeps each row whole: query ${whole}->>'field'.`,
    );
  for (const field of toleratedIn(more)) {
    refuseSecret(extended, field);
    const [outer = '', inner] = field.split('.');
    const known = inner === undefined ? job.record.shape : outer in job.children ? childShape(job, outer) : undefined;
    if (known === undefined)
      throw contradiction(
        extended,
        `${file} adds fields to "${outer}", which is no list inside ${name}. Of an object, query _extra->'${outer}'->>'${inner}'.`,
      );
    const columns = inner === undefined ? [] : ['line', job.children[outer]?.parent];
    if ((inner ?? outer) in known || columns.includes(inner))
      throw contradiction(extended, `${file} adds "${field}", which ${name} has already.`);
  }
  const children = Object.entries(more.children).map(([field, { fields }]) => [
    field,
    list(z.object({ ...(childShape(job, field) as z.ZodRawShape), ...shapeOf(fields) })),
  ]);
  return {
    ...extended,
    record: z.object({ ...job.record.shape, ...shapeOf(more.fields), ...Object.fromEntries(children) }),
  };
}

/** It would never be filled: such fields are dropped before anything is stored. */
function refuseSecret(job: Job, field: string): void {
  if (isSecretName(field.slice(field.indexOf('.') + 1)))
    throw contradiction(
      job,
      `${job.listFile} declares "${field}", which has the name of a secret; those are never stored.`,
    );
}
