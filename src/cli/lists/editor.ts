import { type FileChange, refuseUnwritable } from '../../config/changed-file.ts';
import type { SourceConfig } from '../../config/config.ts';
import { parseReserve, RESERVE_FORM, reservedOf, whyTooMuch } from '../../config/reserve.ts';
import { type ChangedSetting, changeSetting } from '../../config/setting-file.ts';
import { explain, SluiceError } from '../../errors.ts';
import { countServices } from '../../service/schedule/wake-ups.ts';
import type { Change, Editor } from '../../service/status/editor.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { followed, type Session } from '../session/session.ts';
import { checkMasks } from '../session/source-jobs.ts';
import { changeInstallation } from './change-installation.ts';
import { COLUMN_TYPES, planField, readFields } from './fields.ts';
import { changeListFile } from './list-file.ts';

/** Changes what the installation declares while a service runs: it ends its readings, the file and the tables change, and it reads on. */
export interface ServiceEditor extends Editor {
  /** With the lists, rules and reserves as they are now. */
  readonly session: Session;
  /** Aborted once something is to be changed. */
  readonly asked: AbortSignal;
  /** Changes it. The service reads nothing meanwhile. */
  carryOut(): Promise<void>;
}

type Planned = Change & { readonly file: FileChange };

/** `isPart`: the service serves some of the sources of its settings; what is declared is that of all. */
export function createEditor(begun: Session, database: Database, { isPart }: { isPart: boolean }): ServiceEditor {
  const { log, draining } = begun;
  let session = begun;
  let ended: { readonly change: Change; readonly failure: string | null } | null = null;
  let next: Planned | null = null;
  let isPlanning = false;
  let asking = new AbortController();

  const refuse = (message: string, next: string) => {
    throw new SluiceError('failed', message, { next });
  };
  const sourceOf = (name: string): SourceConfig => {
    const source = session.settings.sources.find(each => each.name === name);
    if (source === undefined) throw new Error(`There is no source ${name}.`);
    return source;
  };
  const settingOf = (source: string, setting: ChangedSetting, value: string): FileChange => {
    const { env, cwd } = session.shell;
    return changeSetting({ environment: env, directory: cwd, source, setting, value });
  };

  /** Nothing is asked to end its readings for a change that cannot be. */
  async function begin(plan: () => Promise<Planned>): Promise<void> {
    if (isPlanning || next !== null) refuse('Something else is just being changed.', 'Try again when that is done.');
    isPlanning = true;
    try {
      if (isPart)
        refuse(
          'This service reads only some of the sources, and what is declared holds for all.',
          'Change the file, and start it again.',
        );
      if ((await countServices(database)) > 1)
        refuse('Another service uses this database.', 'Change the file for both, and start both again.');
      const planned = await plan();
      refuseUnwritable(planned.file.path);
      if (draining.aborted) refuse('The service is stopping.', 'Try again once it runs.');
      next = planned;
      asking.abort();
    } finally {
      isPlanning = false;
    }
  }

  return {
    types: COLUMN_TYPES,
    get last() {
      if (next !== null) return { change: next, isUnderWay: true, failure: null };
      return ended && { ...ended, isUnderWay: false };
    },
    get session() {
      return session;
    },
    get asked() {
      return asking.signal;
    },
    readFields: (name, resource) => readFields(session, database, sourceOf(name), resource),
    reserveOf: name => sourceOf(name).reserve,
    addField: field =>
      begin(async () => {
        const { resource } = field;
        const { edit } = await planField(session, field, async () => database);
        const name = `${resource}.${field.field}`;
        return {
          file: changeListFile(session, resource, edit),
          page: { resource },
          doing: `${name} becomes a column`,
          done: `${name} is a column now.`,
          failed: `${name} has got no column.`,
        };
      }),
    addRule: ({ source: name, resource, field, rule }) =>
      begin(async () => {
        const source = sourceOf(name);
        const what = `${resource}.${field}`;
        const names = [...source[rule], what];
        checkMasks({ sources: [{ ...source, [rule]: names }], hashKey: session.settings.hashKey }, session.jobs);
        return {
          file: settingOf(name, rule === 'never' ? 'SOURCE_NEVER' : 'SOURCE_HASH', names.join()),
          page: { resource, source: name },
          ...(rule === 'never'
            ? { doing: `${what} is erased`, done: `${what} is erased, and never stored from now on.` }
            : { doing: `${what} is replaced by hashes`, done: `${what} is stored as hashes now.` }),
          failed: `${what} is stored as before.`,
        };
      }),
    setReserve: (name, text) =>
      begin(async () => {
        const source = sourceOf(name);
        refuseReserve(source, text);
        return {
          file: settingOf(name, 'SOURCE_RESERVE', text),
          page: { reserveOf: name },
          doing: `The reserve of ${name} becomes ${text}`,
          done: `The reserve of ${name} is ${text} now.`,
          failed: `The reserve of ${name} is as before.`,
        };
      }),
    async carryOut() {
      if (next === null) return;
      const { file, ...change } = next;
      let failure: string | null = null;
      try {
        session = await changeInstallation(session, database, file);
        log.info({ file: file.path }, change.done);
      } catch (error) {
        failure = explain(error);
        log.error({ file: file.path, reason: failure }, change.failed);
        // Some of the tables may be changed. A reading of the others fails, with words, until the next start migrates them.
        session = await session.reload().then(
          read => followed(session, read),
          () => session,
        );
      }
      next = null;
      ended = { change, failure };
      asking = new AbortController();
    },
  };
}

function refuseReserve({ rateLimit, windowMs, timeZone, settings }: SourceConfig, text: string): void {
  const refuse = (why: string) => {
    throw new SluiceError('usage', `The reserve "${text.slice(0, 40)}" ${why}.`, {
      next: `Expected: ${RESERVE_FORM}.`,
    });
  };
  if (parseReserve(text) === null) refuse('cannot be read');
  const { timeoutMs = 0 } = settings ?? {};
  const tooMuch = whyTooMuch(reservedOf(text, { limit: rateLimit, windowMs, timeoutMs, timeZone }), rateLimit);
  if (tooMuch !== null) refuse(tooMuch);
}
