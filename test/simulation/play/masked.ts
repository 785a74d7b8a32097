import { createHmac } from 'node:crypto';
import type { Rows } from '../../../sandbox/data/rows.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import type { Declaration } from '../plan/choose-declarations.ts';
import type { World } from './world.ts';

export const hashWith = (key: string, text: string): string => createHmac('sha256', key).update(text).digest('hex');

/** The source as it would be if it showed what the warehouse may hold of the columns that are masked. */
export function maskedSource(sandbox: Sandbox, declaration: Declaration | null): Sandbox {
  if (declaration === null) return sandbox;
  const { never, hash, hashKey } = declaration;
  const maskIn = (row: object, prefix: string): object =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => {
        if (never.includes(prefix + name)) return [name, null];
        return [name, hash.includes(prefix + name) && value ? hashWith(hashKey, String(value)) : value];
      }),
    );
  const rows = function* <R extends keyof Rows>(resource: R): Generator<Rows[R]> {
    for (const row of sandbox.rows(resource)) {
      const masked = maskIn(row, `${resource}.`) as Rows[R] & { items?: object[] };
      if (masked.items) masked.items = masked.items.map(item => maskIn(item, `${resource}.items.`)) as never;
      yield masked;
    }
  };
  return Object.create(sandbox, { rows: { value: rows } }) as Sandbox;
}

/** Notes what the source shows of people at this moment. */
export function notePeople({ sandbox, people }: World): void {
  for (const { email, phone } of sandbox.rows('customers')) {
    if (email) people.email.add(email);
    if (phone) people.phone.add(phone);
  }
}

/** No value that is masked stands in a table, in what the planner knows of one, or in a line of the log. */
export async function checkMasked(world: World, when: string): Promise<void> {
  const { declaration, database, people, plan, problems, log } = world;
  if (declaration === null) return;
  const masked = [...declaration.never, ...declaration.hash];
  // A bad day may show the field under another name.
  const isRenamed = plan.actions.some(({ badDay }) => badDay?.kind === 'renamed' && badDay.field === 'email');
  const values = [
    ...(masked.includes('iban') ? ['planted-'] : masked.includes('customers.iban') ? ['planted-customers-'] : []),
    ...(masked.includes('customers.email') && !isRenamed ? people.email : []),
    ...(masked.includes('customers.phone') ? people.phone : []),
  ];
  if (values.length === 0) return;
  const { rows: tables } = await database.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('warehouse', 'sluice')`,
  );
  const places = [...tables.map(({ name }) => name), 'pg_stats'];
  for (const name of places) {
    const where = name === 'pg_stats' ? `where t.schemaname in ('warehouse', 'sluice')` : '';
    const { rows } = await database.query<{ text: string | null }>(
      `select string_agg(t::text, chr(10)) as text from ${name} t ${where}`,
    );
    report(name, rows[0]?.text ?? '');
  }
  report('the log', log.join('\n'));

  function report(place: string, text: string): void {
    const found = values.find(value => text.includes(value));
    if (found === undefined) return;
    const at = text.indexOf(found);
    problems.push(`after ${when}, ${place} holds a masked value: ${text.slice(Math.max(at - 150, 0), at + 100)}`);
  }
}
