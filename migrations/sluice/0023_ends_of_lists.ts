import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  // A list that is not cut by dates is complete only if something agrees that it ends where it seemed to.
  await sql`
    create or replace function sluice.complete(first date, last date)
    returns table (source text, resource text, complete boolean, as_of timestamptz) language sql stable as $$
      select c.source, c.resource,
        bool_and(c.proven_at is not null and (c.date_from is not null or coalesce(e.value::jsonb->>'verdict', 'agreed') = 'agreed')),
        min(c.proven_at)
      from sluice.coverage c
      left join sluice.traits e on e.source = c.source and e.resource = c.resource and e.trait = 'end'
      where c.slice = 'whole' or c.slice like 'id %' or (c.date_from <= last and c.date_to >= first)
      group by c.source, c.resource order by c.source, c.resource
    $$`.execute(db);

  // Until it is read again, nothing is known of the end of a list that was proven without a count.
  await sql`
    insert into sluice.traits (source, resource, trait, value, evidence, learned_at)
    select distinct c.source, c.resource, 'end',
      '{"verdict":"open","rows":0,"longest":0,"suspect":null,"last":"","times":0}', 'it was proven without a count', sluice.now()
    from sluice.coverage c join sluice.traits t on t.source = c.source and t.resource = c.resource
      and (t.trait = 'paging' or (t.trait = 'counts' and t.value = 'unreliable'))
    where c.proven_at is not null and (c.slice = 'whole' or c.slice like 'id %')
    on conflict do nothing`.execute(db);
}
