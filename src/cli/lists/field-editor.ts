import { explain, SluiceError } from '../../errors.ts';
import { countServices } from '../../service/schedule/wake-ups.ts';
import type { FieldEditor, NewField } from '../../service/status/list-fields.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { Session } from '../session/session.ts';
import { changeList } from './change-list.ts';
import { COLUMN_TYPES, planField, readFields } from './fields.ts';
import { type Content, refuseUnwritable } from './list-file.ts';

/** Gives fields columns while a service runs: it ends its readings, changes the list, and reads on with it. */
export interface ServiceFields extends FieldEditor {
  /** The lists as they are now. */
  readonly jobs: Session['jobs'];
  /** Aborted once a field is to get a column. */
  readonly asked: AbortSignal;
  /** Gives it the column. The service reads nothing meanwhile. */
  carryOut(): Promise<void>;
}

/** `isPart`: the service serves some of the sources of its settings; the lists are those of all. */
export function createFieldEditor(begun: Session, database: Database, { isPart }: { isPart: boolean }): ServiceFields {
  const { log, draining } = begun;
  let session = begun;
  let ended: Omit<NonNullable<FieldEditor['last']>, 'isUnderWay'> | null = null;
  let next: { readonly field: NewField; readonly edit: (content: Content) => Content } | null = null;
  let isPlanning = false;
  let asking = new AbortController();

  const refuse = (message: string, next: string) => {
    throw new SluiceError('failed', message, { next });
  };
  async function plan(field: NewField): Promise<void> {
    const file = `lists/${field.resource}.json`;
    if (isPart) refuse('This service reads only some of the sources, and a list is that of all.', `Change ${file}.`);
    if ((await countServices(database)) > 1)
      refuse('Another service uses this database.', `Change ${file} for both, and start both again.`);
    const { edit } = await planField(session, field, async () => database);
    refuseUnwritable(session, field.resource);
    if (draining.aborted) refuse('The service is stopping.', 'Try again once it runs.');
    next = { field, edit };
    asking.abort();
  }

  return {
    types: COLUMN_TYPES,
    get last() {
      if (next !== null) return { field: next.field, isUnderWay: true, failure: null };
      return ended && { ...ended, isUnderWay: false };
    },
    get jobs() {
      return session.jobs;
    },
    get asked() {
      return asking.signal;
    },
    async read(name, resource) {
      const source = session.settings.sources.find(each => each.name === name);
      if (source === undefined) throw new Error(`There is no source ${name}.`);
      return readFields(session, database, source, resource);
    },
    async add(field) {
      if (isPlanning || next !== null) refuse('Another field is just getting a column.', 'Try again when it has one.');
      isPlanning = true;
      try {
        await plan(field);
      } finally {
        isPlanning = false;
      }
    },
    async carryOut() {
      if (next === null) return;
      const { field, edit } = next;
      let failure: string | null = null;
      try {
        const { file, changed } = await changeList(session, database, { ...field, edit, putsBack: false });
        session = changed;
        log.info({ ...field, file }, 'a field has got a column');
      } catch (error) {
        failure = explain(error);
        log.error({ ...field, reason: failure }, 'a field has got no column');
        // Some of the tables may have it. A reading of the others fails, with words, until the next start migrates them.
        session = { ...session, jobs: await session.reloadJobs().catch(() => session.jobs) };
      }
      next = null;
      ended = { field, failure };
      asking = new AbortController();
    },
  };
}
