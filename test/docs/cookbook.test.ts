import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import { run, useBuild, withInstallation } from '../cli/run-command.ts';
import { ROOT, readDocument } from './documents.ts';

useBuild();

// WRITE_DOCS=1 npx vitest run test/docs/cookbook.test.ts
const document = 'docs/cookbook.md';
const TODAY = '2026-01-15';

test('docs/cookbook.md shows each answer as sluice sql prints it', async () => {
  await withInstallation({ seed: 1, today: TODAY }, async ({ env, sluice, sandbox, database }) => {
    expect((await sluice('sync')).code).toBe(0);
    expect((await sluice('close', '2025-12')).code).toBe(0);
    editInvoices(sandbox);
    expect((await sluice('sync', 'invoices', '--full')).code).toBe(0);
    await moveToThatDay(database);

    const text = readDocument(document);
    const queries = [...text.matchAll(/```sql\n([\s\S]*?)```\n(?:\n```text\n[\s\S]*?```\n)?/g)];
    expect(queries).toHaveLength(15);
    let expected = text;
    for (const [shown, query = ''] of queries) {
      const { code, stdout, stderr } = await run(['sql'], { env, input: onThatDay(query) });
      expect(code, stderr).toBe(0);
      for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
      expected = expected.replace(shown, () => `\`\`\`sql\n${query}\`\`\`\n\n\`\`\`text\n${stdout}\`\`\`\n`);
    }
    if (process.env.WRITE_DOCS) writeFileSync(join(ROOT, document), expected);
    expect(readDocument(document)).toBe(expected);
  });
});

/** As if the lists had been read at 8:00, and the edits at 9:12. */
async function moveToThatDay(database: Database): Promise<void> {
  const at = (time: string) => `timestamptz '${TODAY} ${time}Z'`;
  await database.query(`update sluice.seals set sealed_at = ${at('08:00')}`);
  await database.query(`update warehouse.change_log set earliest = ${at('08:00')}, seen_at = ${at('09:12')}`);
  await database.query(`update warehouse.row_history set valid_to = ${at('09:12')}`);
}

/** Postgres looks up its own \`now()\` before any other. */
const onThatDay = (query: string): string =>
  query.replaceAll('now()', `timestamptz '${TODAY} 12:00Z'`).replaceAll('current_date', `date '${TODAY}'`);

/** Two payments, and three invoices of the closed month: one is corrected, one extended, one deleted. */
function editInvoices({ update, remove }: Sandbox): void {
  update('invoices', 690, { status: 'Paid' });
  update('invoices', 704, { status: 'Paid' });
  update('invoices', 697, { amount: 11_000.4, notes: 'As agreed' });
  update('invoices', 695, { due_date: '2026-01-14' });
  remove('invoices', 696);
}
