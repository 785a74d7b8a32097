import { stringify } from 'yaml';
import type { Relation } from '../../warehouse/reports/data-tables.ts';

const HEAD = `# The warehouse as sources of dbt 1.10 or newer: put this file into models/. Written by: sluice describe --dbt
# "dbt source freshness" tells as of when each list is proven equal to the source. Relationships warn only: the source itself may
# refer to rows that do not exist.
`;

const FRESHNESS = { warn_after: { count: 6, period: 'hour' }, error_after: { count: 24, period: 'hour' } };

/**
 * The tables and views of a schema as sources of dbt, without the history views: `{{ source(name, 'invoices') }}`. `lists`: the tables that are
 * read from the source; their freshness is the age of their proof.
 */
export function dbtSources(
  relations: readonly Relation[],
  { name, schema, lists }: { name: string; schema: string; lists: readonly string[] },
): string {
  const tables = relations
    .filter(relation => !relation.name.endsWith('_history'))
    .map(relation => ({
      name: relation.name,
      ...(relation.comment !== null && { description: relation.comment }),
      ...(lists.includes(relation.name) && {
        config: {
          freshness: FRESHNESS,
          loaded_at_query: `select equal_as_of from ${schema}.freshness where resource = '${relation.name}'`,
        },
      }),
      columns: relation.columns.map(column => {
        const tests = [...keyTests(relation, column), ...referenceTests(relations, relation, column, name)];
        return {
          name: column.name,
          ...(column.comment !== null && { description: column.comment }),
          ...(tests.length > 0 && { data_tests: tests }),
        };
      }),
    }));
  const source = { name, schema, description: 'Kept equal to the source by Sluice.', tables };
  return `${HEAD}${stringify({ version: 2, sources: [source] }, { lineWidth: 0, aliasDuplicateObjects: false })}`;
}

type Column = Relation['columns'][number];

const keyTests = ({ columns }: Relation, { isKey }: Column): string[] =>
  isKey && columns.filter(column => column.isKey).length === 1 ? ['unique', 'not_null'] : [];

/** A column of a table such as `customer_id` or `quote_key` names a row of `customers` or `quotes`, by its key `id` or `_key`. */
function referenceTests(relations: readonly Relation[], { kind }: Relation, { name }: Column, source: string) {
  const [, one, key] = /^(\w+)_(id|key)$/.exec(name) ?? [];
  const field = key === 'key' ? '_key' : key;
  const named = relations.find(each => each.kind === 'table' && each.name === `${one}s`);
  if (kind === 'view' || !named?.columns.some(column => column.isKey && column.name === field)) return [];
  const to = `source('${source}', '${named.name}')`;
  return [{ relationships: { arguments: { to, field }, config: { severity: 'warn' } } }];
}
