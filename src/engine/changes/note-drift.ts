import { stampMs } from '../../clock.ts';
import type { Db } from '../../warehouse/database/database.ts';
import { noteNotice } from '../../warehouse/ledgers/incidents.ts';
import { remember, resourceIn, type TransactionEffects } from '../conclude/transaction-effects.ts';
import { partition } from '../coverage/list.ts';
import { driftText, observeDrift } from '../profile/field-drift.ts';
import type { Step } from '../read/step.ts';
import { cleanText } from '../storable-text.ts';
import { composeNotice } from './drift-notice.ts';

/**
 * Remembers which fields appeared or vanished, and records a notice of those that did, in the transaction that stores their rows.
 * `losing`: by key, the fields that hold something and that the row would empty.
 */
export async function noteDrift(
  tx: Db,
  effects: TransactionEffects,
  steps: readonly Step[],
  losing: ReadonlyMap<string, readonly string[]>,
): Promise<void> {
  const { resource, log, afterCommit } = effects;
  const shown = steps.flatMap(({ fields, rows }) => (fields && rows[0] ? [{ ...fields, at: rows[0].readAt }] : []));
  const [first] = shown;
  const [{ task } = {}] = steps;
  if (first === undefined || task === undefined) return;
  const emptied = new Map<string, number>();
  for (const field of [...losing.values()].flat()) emptied.set(field, (emptied.get(field) ?? 0) + 1);
  const { drift, news } = observeDrift(
    resource.profile,
    {
      unknown: shown.flatMap(({ unknown }) => [...unknown].map(cleanText)),
      omitted: new Set(first.omitted.filter(field => shown.every(({ omitted }) => omitted.includes(field)))),
      emptied,
    },
    { at: stampMs(first.at), proofs: partition(resourceIn(effects)).map(({ provenAt }) => provenAt) },
  );
  const notice = composeNotice(resource.name, resource.job, { news, drift });
  const evidence = notice.message || 'no news';
  remember(effects, task, { trait: 'drift', value: driftText(drift), evidence });
  if (news.length === 0) return;
  await noteNotice(tx, resource.source, { resource: resource.name, ...notice });
  afterCommit.push(() => log.info({ resource: resource.name, ...notice }, 'fields changed'));
}
