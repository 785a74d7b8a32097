import { describe, expect, test } from 'vitest';
import { openSandbox } from '../../sandbox/sandbox.ts';
import { useBuild } from '../cli/run-command.ts';
import { withDatabase } from '../support/database.ts';
import { everything } from '../support/long.ts';
import { blocksOf, DOCUMENTS, runnable } from './documents.ts';
import { runPage } from './run-page.ts';

useBuild();

const KEY = 'sandbox-key';
/** Not every list: the report of each month takes a request, and no page is about it. */
const SYNC = 'sluice sync customers invoices transactions';
/** A customer who was deleted at the source and may be erased. */
const DELETE_17 = `curl -sf -X DELETE -H "Authorization: Bearer $SOURCE_API_KEY" "$SOURCE_URL/api/v2/customers/17"
sluice sync customers`;

/** What the reader of a page has at hand when its first command comes. */
const BEFORE: Readonly<Record<string, string>> = {
  'docs/backfill.md': SYNC,
  'docs/bi.md': SYNC,
  'docs/changes.md': `${SYNC}
sluice start`,
  'docs/commands.md': `echo "$SOURCE_API_KEY" > key.txt; mkdir -p etc/bash_completion.d; sluice sync customers invoices
${DELETE_17}`,
  'docs/console.md': 'sluice start',
  'docs/cookbook.md': SYNC,
  'docs/coverage.md': SYNC,
  'docs/deploy.md': 'mkdir -p etc/sluice',
  'docs/fresh-answers.md': `${SYNC}
sluice start`,
  // Each of the eleven lists has a run, so that run 12 is the second of the customers.
  'docs/history.md': `sluice sync
${DELETE_17}`,
  'docs/lists.md': `sluice sync products
psql "$DATABASE_URL" -c "update warehouse.products set _extra = '{\\"project\\": \\"Alpha\\", \\"hours\\": 1.5}'"
mkdir lists; echo "$JSON_OF_PAGE" > lists/contracts.json; sluice migrate`,
  'docs/notify.md': SYNC,
  'docs/push.md': `${SYNC}
printf 'account,email\\nNew,new@example.com\\n' > new.csv
echo '{"first_name":"Mia","last_name":"Fair"}' > fair.ndjson`,
  'docs/security.md': `sluice sync customers invoices
${DELETE_17}`,
  'docs/several-sources.md': 'echo "$JSON_OF_PAGE" > sources.json',
  'docs/tables.md': SYNC,
};

/** Pages that create logins. */
const ADMINISTRATORS = ['docs/bi.md', 'docs/commands.md'];

/** Pages for newcomers, who have no Postgres of their own, one that looks into the folder of the embedded one, and two that need a reader. */
const EMBEDDED = ['README.md', 'docs/cookbook.md', 'docs/getting-started.md', 'docs/notify.md', 'docs/security.md'];

/** What `npm test` runs, too. */
const NEWCOMERS = ['README.md'];

const pages = DOCUMENTS.filter(document => runnable(blocksOf(document)).length > 0);

test('no command hides in a block of another language', () => {
  const hidden = DOCUMENTS.flatMap(document =>
    blocksOf(document)
      .filter(({ language }) => ['', 'text', 'console', 'bash', 'shell'].includes(language))
      .flatMap(({ code }) => code.split('\n'))
      .filter(line => /^\$? ?(npx|npm|sluice|psql|curl|pg_\w+|docker|kubectl|export) /.test(line))
      .map(line => `${document}: ${line}`),
  );
  expect(hidden).toEqual([]);
});

describe('every command block and query of a page runs as written, in order', () => {
  test.concurrent.each(everything ? pages : NEWCOMERS)('%s', { timeout: 300_000 }, async document => {
    const [one, other] = [await openSource(1), await openSource(2)];
    try {
      await withDatabase(async (_, own) => {
        const url = ADMINISTRATORS.includes(document) ? own.adminUrl : own.url;
        const { code, output } = await runPage(document, {
          source: one.url,
          secondSource: other.url,
          key: KEY,
          database: EMBEDDED.includes(document) ? undefined : url,
          before: BEFORE[document] ?? '',
        });
        expect(code, output).toBe(0);
      });
    } finally {
      await one.close();
      await other.close();
    }
  });
});

const SIZE = { customers: 150, invoices: 600, transactions: 200 };
const openSource = (seed: number) => openSandbox({ seed, size: SIZE, apiKey: KEY, rateLimit: 0 });
