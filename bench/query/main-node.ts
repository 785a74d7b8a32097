import type { Queryable } from '../../src/warehouse/database/database.ts';

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  /** Milliseconds of one loop, with its children. */
  readonly 'Actual Total Time': number;
  readonly 'Actual Loops': number;
  readonly Plans?: readonly PlanNode[];
}

/** The node of a statement's plan in which Postgres spends the most time, such as `Seq Scan on invoices`. */
export async function mainNode(
  { query }: Queryable,
  sql: string,
  parameters: readonly unknown[],
): Promise<string | undefined> {
  const { rows } = await query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `explain (analyze, format json) ${sql}`,
    parameters,
  );
  const nodes = rows[0] ? flatten(rows[0]['QUERY PLAN'][0].Plan) : [];
  const [main] = nodes.sort((a, b) => ownMs(b) - ownMs(a));
  if (!main) return undefined;
  const place = main['Index Name'] ?? main['Relation Name'];
  return place === undefined ? main['Node Type'] : `${main['Node Type']} on ${place}`;
}

const flatten = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(flatten)];

const allMs = (node: PlanNode): number => node['Actual Total Time'] * node['Actual Loops'];

const ownMs = (node: PlanNode): number =>
  allMs(node) - (node.Plans ?? []).reduce((sum, child) => sum + allMs(child), 0);
