import { type Restore, restoreOf } from '../../engine/deletion/restore.ts';
import { groupBy } from '../../engine/group-by.ts';
import { declareTable } from '../../engine/records/declare-table.ts';
import { explain } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { acceptRestore, sourceOption } from '../../next-steps.ts';
import type { Db } from '../../warehouse/database/database.ts';
import type { Trouble } from '../../warehouse/ledgers/incidents.ts';
import { lastWholeSyncs } from '../../warehouse/ledgers/orders.ts';
import { countRestatements, type RestatedList, sealedState } from '../../warehouse/rows/seals.ts';
import { changesMark, type Lists, readSeenChanges } from '../../warehouse/rows/seen-changes.ts';
import { tableIn } from '../../warehouse/rows/tables.ts';
import { listed, moment, plural, restatedText } from '../format.ts';
import type { ServedSource } from '../status/served-source.ts';

export type Watched = Pick<ServedSource, 'name' | 'schema' | 'timeZone' | 'jobs' | 'scheduled'>;

/** What is seen only by comparing rows, which is done again only after some have changed. */
interface RowTroubles {
  /** What is not done where this fails: other troubles are reported all the same. */
  readonly work: string;
  /** A text that differs once rows have changed; null where there is nothing to compare. */
  readonly state: (db: Db, source: Watched) => Promise<string | null>;
  readonly find: (db: Db, source: Watched) => Promise<readonly Trouble[]>;
}

const ROW_TROUBLES: readonly RowTroubles[] = [
  {
    work: 'compare closed months',
    state: (db, { name }) => sealedState(db, name),
    async find(db, { name }) {
      const lists = groupBy(await countRestatements(db, name, { isExact: false }), ({ resource }) => resource);
      return [...lists].map(([resource, months]) => restatedTrouble(name, resource, months));
    },
  },
  {
    work: 'compare changes with earlier ones',
    state: (db, source) => changesMark(db, listsOf(source)),
    async find(db, source) {
      const restore = await findRestore(db, listsOf(source));
      return restore?.isOpen ? [restoredTrouble(source, restore)] : [];
    },
  },
];

/** The lists of a source, by their jobs. */
export const listsOf = ({ name, schema, jobs }: Pick<ServedSource, 'name' | 'schema' | 'jobs'>): Lists => ({
  source: name,
  schema,
  tables: new Map([...jobs].map(([resource, job]) => [resource, tableIn(schema, declareTable(resource, job))])),
});

/** Finds them in one source after another. What fails is reported, and found as it was before. */
export function createRowTroubles(log: Log): (db: Db, source: Watched) => Promise<readonly Trouble[]> {
  const looks = ROW_TROUBLES.map(look => ({
    ...look,
    known: new Map<string, { readonly state: string | null; readonly troubles: readonly Trouble[] }>(),
  }));
  return async (db, source) => {
    const found: Trouble[] = [];
    for (const { work, state: stateOf, find, known } of looks) {
      try {
        const state = await stateOf(db, source);
        if (known.get(source.name)?.state !== state)
          known.set(source.name, { state, troubles: state === null ? [] : await find(db, source) });
      } catch (error) {
        log.warn({ source: source.name, reason: explain(error) }, `could not ${work}`);
      }
      found.push(...(known.get(source.name)?.troubles ?? []));
    }
    return found;
  };
}

function restoredTrouble({ name, timeZone }: Watched, { changed, back, firstSeenAt }: Restore): Trouble {
  const counts = [...back.values()];
  const lists = [...back].map(([resource, rows]) => `${rows} of ${resource}`);
  return {
    kind: 'restored',
    resource: null,
    message: `The source shows again what it showed before ${moment(firstSeenAt, timeZone)}. Of ${plural(changed, 'row')} that changed since, ${counts.reduce((sum, rows) => sum + rows, 0)} are as before: ${listed(lists)}. It was restored from a backup, or an old copy of it answers.`,
    next: `If it was restored, read everything again: ${acceptRestore(name)}. If not, correct the source.`,
  };
}

function restatedTrouble(source: string, resource: string, months: readonly RestatedList[]): Trouble {
  const changes = months.map(({ month, ...counts }) => `${month}: ${restatedText(counts)}`);
  return {
    kind: 'restated',
    resource,
    message: `Rows of ${resource} in closed months have changed. ${changes.join('. ')}.`,
    next: `See them: sluice close ${months[0]?.month}${sourceOption(source)}`,
  };
}

/** What the changes of the last week say of a source; `isOpen`: lists that it put back were not read as a whole since. */
export async function findRestore(db: Db, lists: Lists): Promise<(Restore & { readonly isOpen: boolean }) | null> {
  const restore = restoreOf(await readSeenChanges(db, lists));
  if (restore === null) return null;
  const syncs = await lastWholeSyncs(db, lists.source);
  const isRead = (resource: string) => (syncs.get(resource) ?? Number.NEGATIVE_INFINITY) >= restore.noticedAt;
  return { ...restore, isOpen: ![...restore.back.keys()].every(isRead) };
}
