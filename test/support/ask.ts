import pg from 'pg';

/** Brackets one connection of its own. */
export async function withClient<T>(
  url: string,
  work: (client: pg.Client) => Promise<T>,
  applicationName?: string,
): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: applicationName });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Runs the queries in one session; resolves with the rows of the last. */
export const ask = (url: string, ...queries: string[]): Promise<Record<string, unknown>[]> =>
  withClient(url, async client => {
    for (const query of queries.slice(0, -1)) await client.query(query);
    return (await client.query<Record<string, unknown>>(queries.at(-1) ?? '')).rows;
  });
