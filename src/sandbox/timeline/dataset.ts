import { DAY } from '../../clock.ts';
import { createEdits, type Edits, type EmitEvent } from '../changes/edits.ts';
import { type Changes, createChanges } from '../changes/main-changes.ts';
import { createOtherChanges, type OtherChanges } from '../changes/other-changes.ts';
import { createData, type Data, type DataOptions } from '../data/data.ts';
import type { Random } from '../data/random.ts';
import { type AnswerList, createLists } from '../lists/answer-list.ts';

/** The rows and all that reads and changes them: what begins anew at a reset. */
export interface World {
  readonly data: Data;
  readonly edits: Edits;
  readonly lists: AnswerList;
  readonly changes: Changes;
  readonly otherChanges: OtherChanges;
}

export interface WorldOptions extends DataOptions {
  /** The moment a change is made at, in milliseconds since the epoch. */
  moment: () => number;
  emit: EmitEvent;
  /** Goes on from where it is, so that every day after a reset brings other changes. */
  random: Random;
  /** Of the lists beside customers, invoices and transactions. */
  otherRandom: Random;
}

/**
 * The world as it is at a moment of the source's time, which never goes back. `resets` begins it anew with each day that
 * begins after `startedAt`, as the vendor's sandbox does at an hour that is not documented, and calls `onReset`.
 */
export function createWorlds(
  options: WorldOptions,
  reset: { resets: boolean; startedAt: number; onReset: () => void },
): (at: number) => World {
  let day = Math.floor(reset.startedAt / DAY);
  let world = createWorld(options);
  return at => {
    if (reset.resets && Math.floor(at / DAY) > day) {
      day = Math.floor(at / DAY);
      world = createWorld(options);
      reset.onReset();
    }
    return world;
  };
}

function createWorld(options: WorldOptions): World {
  const data = createData(options);
  const edits = createEdits(data, options.moment, options.emit);
  return {
    data,
    edits,
    lists: createLists(data, options.seed),
    changes: createChanges(data, edits, options.random),
    otherChanges: createOtherChanges(data, edits, options.otherRandom),
  };
}
