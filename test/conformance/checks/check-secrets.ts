import { createSecretFilter } from '../../../src/engine/records/drop-secrets.ts';
import { isSecretName } from '../../../src/engine/records/secret-names.ts';
import { asList } from '../../../src/source/answers/json.ts';
import { type Finding, observed, undetermined } from '../findings/finding.ts';
import type { ListReadings } from '../lists/read-lists.ts';
import { isRow } from '../requests/send-request.ts';

const withoutSecrets = createSecretFilter([], { own: new Set(), items: new Map() });

/** Whether the value of a field holds secrets below itself. */
export const holdsSecrets = (value: unknown): boolean => withoutSecrets(value) !== value;

/** Where rows hold passwords and keys, other than in fields of their own. Sluice drops them all. */
export function checkSecrets({ offered }: ListReadings): Finding {
  const entries = offered.flatMap(({ name, first }) => {
    const list = asList(first.data);
    return Array.isArray(list) ? (list as unknown[]).map(entry => ({ name, entry })) : [];
  });
  if (entries.length === 0) return undetermined('secrets', 'every list is empty');
  const wrapped = entries.filter(({ entry }) => Array.isArray(entry) && holdsSecrets(entry));
  if (wrapped.length > 0) {
    const evidence = `${wrapped.length} rows that are lists, e.g. in ${wrapped[0]?.name}`;
    return observed('secrets', 'wrapped', evidence, 'not: such rows go to quarantine, without the secrets');
  }
  for (const { name, entry } of entries.filter(({ entry }) => isRow(entry))) {
    const field = Object.entries(entry as object).find(([field, value]) => !isSecretName(field) && holdsSecrets(value));
    if (field) return observed('secrets', 'nested', `e.g. in ${name}.${field[0]}`);
  }
  return observed('secrets', 'no', `none of ${entries.length} rows holds any below its fields`);
}
