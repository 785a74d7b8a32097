// A connector without plan, proof or bookkeeping: it reads the pages of each list one after the other and upserts them, in one
// transaction per page. Started by bench/requests/run-connector.ts, in a process of its own.
import { createLog } from '../../src/log.ts';
import { openDatabase } from '../../src/warehouse/database/database.ts';
import type { ConnectorTask } from './run-connector.ts';

process.once('disconnect', () => process.exit());
process.once('message', async ({ source, url, schema, tables, perRow }: ConnectorTask) => {
  const log = createLog({ level: 'warn' });
  const database = await openDatabase({ url, applicationName: 'plain connector', log });
  let requests = 0;
  for (const { name, columns } of tables) {
    const upsert = `insert into ${schema}.${name} select * from json_populate_recordset(null::${schema}.${name}, $1::json)
      on conflict (id) do update set ${columns.map(column => `${column} = excluded.${column}`).join()}`;
    for (let page = 1, pages = 1; page <= pages; page++) {
      const answer = await fetch(`${source.url}/api/v2/${name}?page=${page}&limit=1000`, {
        headers: { authorization: `Bearer ${source.apiKey}` },
      });
      requests++;
      const body = (await answer.json()) as { data: unknown[]; meta: { total_pages: number } };
      pages = body.meta.total_pages;
      await database.transaction(async tx => {
        for (const records of perRow ? body.data.map(row => [row]) : [body.data])
          await tx.query(upsert, [JSON.stringify(records)]);
      });
    }
  }
  await database.close();
  process.send?.(requests);
});
process.send?.('ready');
