import type { StoredValues } from '../../warehouse/reports/stored-record.ts';

export interface ChangedField {
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** Columns that tell of Sluice's own work. */
const OURS = new Set(['_synced_at', '_read_at', '_hash', '_key']);

/** The fields in which two versions of a row differ. */
export function changedFields(before: StoredValues, after: StoredValues): ChangedField[] {
  const fields = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...fields]
    .filter(field => !OURS.has(field) && valueText(before[field]) !== valueText(after[field]))
    .map(field => ({ field, before: before[field] ?? null, after: after[field] ?? null }));
}

/** A value as people read it: text as it is, objects as JSON, nothing as an empty text. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
