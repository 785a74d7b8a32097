import type { Queryable } from '../../src/warehouse/database/database.ts';

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Total Cost': number;
  readonly Plans?: readonly PlanNode[];
}

/** The node of a statement's plan that costs most by itself, such as `Seq Scan on invoices`. */
export async function mainNode(
  { query }: Queryable,
  sql: string,
  parameters: readonly unknown[],
): Promise<string | undefined> {
  const { rows } = await query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(`explain (format json) ${sql}`, parameters);
  const nodes = rows[0] ? flatten(rows[0]['QUERY PLAN'][0].Plan) : [];
  const [main] = nodes.sort((a, b) => ownCost(b) - ownCost(a));
  if (!main) return undefined;
  const place = main['Index Name'] ?? main['Relation Name'];
  return place === undefined ? main['Node Type'] : `${main['Node Type']} on ${place}`;
}

const flatten = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(flatten)];

// Below a limit, a node costs less than its children, which are not read to their end.
const ownCost = ({ 'Total Cost': all, Plans = [] }: PlanNode): number =>
  all - Plans.reduce((sum, child) => sum + child['Total Cost'], 0);
