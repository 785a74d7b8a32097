import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run, useBuild, withInstallation } from '../cli/run-command.ts';
import { ROOT, readDocument } from './documents.ts';

useBuild();

// WRITE_DOCS=1 npx vitest run test/docs/cookbook.test.ts
const document = 'docs/cookbook.md';

test('docs/cookbook.md shows each answer as sluice sql prints it', async () => {
  await withInstallation({ seed: 1, today: '2026-01-15' }, async ({ env, sluice }) => {
    expect((await sluice('sync')).code).toBe(0);
    const text = readDocument(document);
    const queries = [...text.matchAll(/```sql\n([\s\S]*?)```\n(?:\n```text\n[\s\S]*?```\n)?/g)];
    expect(queries).toHaveLength(10);
    let expected = text;
    for (const [shown, query = ''] of queries) {
      const { code, stdout, stderr } = await run(['sql'], { env, input: query });
      expect(code, stderr).toBe(0);
      for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
      expected = expected.replace(shown, () => `\`\`\`sql\n${query}\`\`\`\n\n\`\`\`text\n${stdout}\`\`\`\n`);
    }
    if (process.env.WRITE_DOCS) writeFileSync(join(ROOT, document), expected);
    expect(readDocument(document)).toBe(expected);
  });
});
