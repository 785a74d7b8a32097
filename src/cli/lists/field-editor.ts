import { explain, SluiceError } from '../../errors.ts';
import type { FieldChange, FieldEditor } from '../../service/status/list-fields.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { Session } from '../session/session.ts';
import { changeList } from './change-list.ts';
import { COLUMN_TYPES, planChange, readFields } from './fields.ts';
import type { Content } from './list-file.ts';

/** Changes of fields that a service makes for its console: it ends its readings, changes the list, and begins anew with it. */
export interface ServiceFields extends FieldEditor {
  /** What the service works with, with the lists as they are now. */
  readonly session: Session;
  /** Aborted once a change is to be made. */
  readonly asked: AbortSignal;
  /** Makes the change. The service reads nothing meanwhile. */
  carryOut(): Promise<void>;
}

export function createFieldEditor(begun: Session, database: Database): ServiceFields {
  let session = begun;
  let last: FieldEditor['last'] = null;
  let next: { readonly change: FieldChange; readonly edit: (content: Content) => Content } | null = null;
  let asking = new AbortController();
  return {
    types: COLUMN_TYPES,
    get last() {
      return last;
    },
    get session() {
      return session;
    },
    get asked() {
      return asking.signal;
    },
    async read(name, resource) {
      const source = session.settings.sources.find(each => each.name === name);
      if (source === undefined) throw new Error(`There is no source ${name}.`);
      return readFields(session, database, source, resource);
    },
    async change(change) {
      const edit = await planChange(session, change, async () => database);
      if (next !== null)
        throw new SluiceError('failed', `Another change is under way: ${next.change.resource}.${next.change.field}.`, {
          next: 'Wait until it is done.',
        });
      next = { change, edit };
      last = { change, isUnderWay: true, failure: null };
      asking.abort();
    },
    async carryOut() {
      if (next === null) return;
      const { change, edit } = next;
      const facts = { resource: change.resource, field: change.field, type: change.type };
      let failure: string | null = null;
      try {
        const { file, changed } = await changeList(session, database, change.resource, edit);
        session = changed;
        session.log.info({ ...facts, file }, 'a field was changed in the console');
      } catch (error) {
        failure = explain(error);
        session.log.error({ ...facts, reason: failure }, 'a field could not be changed');
      }
      next = null;
      last = { change, isUnderWay: false, failure };
      asking = new AbortController();
    },
  };
}
