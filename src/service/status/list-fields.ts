import type { DeclaredMask } from '../../warehouse/database/declared-table.ts';
import { count } from '../format.ts';

/** A field of a list beyond those that Sluice knows. */
export interface ListField {
  /** Those of the rows inside as `items.discount`. */
  readonly field: string;
  readonly table: string;
  /** Rows that carry it; of a column, those with a value. */
  readonly rows: number;
  readonly total: number;
  /** What a column of it could be; null for lists and objects, and for names that no column can have. */
  readonly type: string | null;
  readonly examples: readonly string[];
  /** The file that gives it a column; null without one. */
  readonly file: string | null;
  /** Values that do not fit the type of its column, and stay in `_extra`. */
  readonly unfit: number;
}

/** What the settings say of a field that is not stored as it comes. */
export type MaskedField = Pick<DeclaredMask, 'field' | 'rule'>;

export interface ListFields {
  readonly fields: readonly ListField[];
  readonly masks: readonly MaskedField[];
}

/** A field that is to get a column. */
export interface NewField {
  readonly resource: string;
  readonly field: string;
  readonly type: string;
  readonly description: string;
}

/** `Never stored: phone.` */
export function maskLines(masks: readonly MaskedField[]): string[] {
  const named = (rule: MaskedField['rule']) =>
    masks
      .filter(mask => mask.rule === rule)
      .map(({ field }) => field)
      .join(', ');
  const [never, hash] = [named('never'), named('hash')];
  return [...(never ? [`Never stored: ${never}.`] : []), ...(hash ? [`Stored as hashes: ${hash}.`] : [])];
}

/** `column; 3 of other types in _extra` */
export const keptText = ({ file, unfit }: ListField): string =>
  file === null ? '_extra' : `column${unfit > 0 ? `; ${count(unfit)} of other types in _extra` : ''}`;
