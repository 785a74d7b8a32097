import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  // What an undo restored differs from what the last reading showed, until the next.
  await sql`
    create or replace function sluice.complete(first date, last date)
    returns table (source text, resource text, complete boolean, as_of timestamptz) language sql stable as $$
      select c.source, c.resource,
        bool_and(c.proven_at is not null and (c.due_since is null or c.due_since <= c.proven_at)
          and (c.date_from is not null or coalesce(e.value::jsonb->>'verdict', 'agreed') = 'agreed')),
        min(c.proven_at)
      from sluice.coverage c
      left join sluice.traits e on e.source = c.source and e.resource = c.resource and e.trait = 'end'
      where c.slice = 'whole' or c.slice like 'id %' or (c.date_from <= last and c.date_to >= first)
      group by c.source, c.resource order by c.source, c.resource
    $$`.execute(db);
}
