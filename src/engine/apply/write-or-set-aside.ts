import { rollbackTo, savepoint, type Transaction } from '../../warehouse/database/database.ts';
import type { BadRecord } from '../../warehouse/rows/quarantine.ts';
import type { Row } from '../../warehouse/rows/write/row.ts';
import { type WriteResult, writeRows } from '../../warehouse/rows/write/write-rows.ts';
import { oldestProof } from '../coverage/list.ts';
import type { Step } from '../read/step.ts';
import type { Resource } from '../resource.ts';
import { isBadData } from './bad-data.ts';
import { loggedRows } from './logged-rows.ts';

/** The result of writing several steps. */
export interface WrittenRows {
  readonly inserted: Set<string>;
  readonly updated: Set<string>;
  /** Those of `inserted` that had been deleted. */
  readonly revived: ReadonlySet<string>;
  /** Keys of the rows that Postgres accepted. */
  readonly good: readonly string[];
  /** Rows that Postgres refused for their content. */
  readonly refused: ReadonlyMap<string, BadRecord>;
  /** Keys of rows that may be stored otherwise than given; see `WriteResult.unsure`. */
  readonly unsure: ReadonlySet<string>;
  /** Keys of rows that are shown otherwise than they are stored, by answers that lack fields; see `WriteResult.outdated`. */
  readonly outdated: ReadonlySet<string>;
}

/** Decides about rows that would empty stored values; returns them as they are to be written. */
export type Judge = (rows: {
  /** By key: the fields that each would empty. */
  readonly losing: ReadonlyMap<string, readonly string[]>;
  readonly refused: ReadonlyMap<string, BadRecord>;
}) => Promise<readonly Row[]>;

/**
 * `rowByRow`: writes each row by itself, so that a refused row does not fail the others. Without `judge`, rows that
 * empty stored values are written as they are.
 */
export async function writeOrSetAside(
  tx: Transaction,
  resource: Resource,
  steps: readonly Step[],
  { rowByRow, judge }: { rowByRow: boolean; judge?: Judge },
): Promise<WrittenRows> {
  const rows = steps.flatMap(step => step.rows);
  const context = {
    resource: resource.name,
    runId: steps[0]?.task.runId ?? null,
    deep: steps.some(({ deep, task }) => deep || task.deep),
    since: new Date(Math.min(...steps.map(({ task }) => task.since))).toISOString(),
    updatedAt: resource.job.updatedAt,
    lagMs: resource.lagMs,
    mostlyStored: oldestProof(resource) !== null,
    volatile: resource.profile.volatile.fields,
    orphans: rowByRow,
    logged: loggedRows(resource, steps),
  };
  const inserted = new Set<string>();
  const updated = new Set<string>();
  const refused = new Map<string, BadRecord>();
  const revived = new Set<string>();
  const losing: WriteResult['losing'] = new Map();
  const unsure = new Set<string>();
  const outdated = new Set<string>();
  const write = async (batch: readonly Row[], sparesLosing: boolean) => {
    const result = await writeRows(tx, resource.table, batch, { ...context, sparesLosing });
    for (const [key, fields] of result.losing) losing.set(key, fields);
    for (const key of result.inserted) inserted.add(key);
    for (const key of result.updated) updated.add(key);
    for (const key of result.revived) revived.add(key);
    for (const key of [...result.unsure, ...result.losing.keys()]) unsure.add(key);
    for (const key of result.outdated) outdated.add(key);
  };
  const writeAll = async (batch: readonly Row[], sparesLosing: boolean) => {
    if (!rowByRow) return write(batch, sparesLosing);
    for (const row of batch) {
      await savepoint(tx, 'one_row');
      try {
        await write([row], sparesLosing);
      } catch (error) {
        if (!isBadData(error)) throw error;
        await rollbackTo(tx, 'one_row');
        refused.set(row.key, { key: row.key, payload: payloadOf(row), reasons: { '(record)': error.message } });
      }
    }
  };
  await writeAll(rows, judge !== undefined);
  const judged = (await judge?.({ losing, refused })) ?? [];
  if (judged.length > 0) await writeAll(judged, false);
  const good = rows.filter(row => !refused.has(row.key)).map(row => row.key);
  return { inserted, updated, revived, good, refused, unsure, outdated };
}

function payloadOf(row: Row): string {
  const extra = row.extra === null ? {} : (JSON.parse(row.extra) as Record<string, unknown>);
  return JSON.stringify({ ...row.values, ...row.children, ...extra });
}
