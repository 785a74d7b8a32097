import { DAY } from '../../src/clock.ts';
import { createEdits, type Edits, type EmitEvent } from '../changes/edits.ts';
import { createMainChanges } from '../changes/main-changes.ts';
import { createOtherChanges } from '../changes/other-changes.ts';
import { createData, type Data, type DataOptions } from '../data/data.ts';
import type { Random } from '../data/random.ts';
import { type AnswerList, createListAnswers } from '../lists/answer-list.ts';

/** The rows and everything that reads and changes them; a daily reset replaces all of it. */
export interface Dataset {
  readonly data: Data;
  readonly edits: Edits;
  readonly answerList: AnswerList;
  readonly mainChanges: ReturnType<typeof createMainChanges>;
  readonly otherChanges: ReturnType<typeof createOtherChanges>;
}

export interface DatasetOptions extends DataOptions {
  /** The time of an edit, in milliseconds since the epoch. */
  editTime: () => number;
  emit: EmitEvent;
  /** Continues after a reset, so that each day brings different changes. */
  random: Random;
  otherRandom: Random;
}

export interface ResetOptions {
  /** Whether each new UTC day starts with a new dataset. The hour at which the vendor's sandbox does so is not documented. */
  daily: boolean;
  /** Milliseconds since the epoch. */
  startedAt: number;
  onReset: () => void;
}

/** Returns the dataset of a moment, in milliseconds since the epoch. Moments must not go backwards. */
export function createDatasets(options: DatasetOptions, reset: ResetOptions): (at: number) => Dataset {
  let day = Math.floor(reset.startedAt / DAY);
  let dataset = createDataset(options);
  return at => {
    if (reset.daily && Math.floor(at / DAY) > day) {
      day = Math.floor(at / DAY);
      dataset = createDataset(options);
      reset.onReset();
    }
    return dataset;
  };
}

function createDataset(options: DatasetOptions): Dataset {
  const data = createData(options);
  const edits = createEdits(data, options.editTime, options.emit);
  return {
    data,
    edits,
    answerList: createListAnswers(data, options.seed),
    mainChanges: createMainChanges(data, edits, options.random),
    otherChanges: createOtherChanges(data, edits, options.otherRandom),
  };
}
