#!/bin/sh
# Runs once, when the image initializes an empty volume: Sluice gets a login that is no superuser, and people, if
# READER_PASSWORD is set, one that may only read. The superuser keeps no password: it logs in inside the container only.
set -eu
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres \
  --set password="$POSTGRES_PASSWORD" --set reader_password="${READER_PASSWORD:-}" <<'SQL'
create role sluice login password :'password';
create database sluice owner sluice;
revoke temporary on database sluice from public;
select :'reader_password' <> '' as has_reader \gset
\if :has_reader
  create role sluice_reader login connection limit 20 password :'reader_password';
  alter role sluice_reader set default_transaction_read_only = on;
  alter role sluice_reader set statement_timeout = '60s';
\endif
alter role current_user password null;
\connect sluice
revoke create on schema public from public;
do $$
declare name regprocedure;
begin
  for name in
    select oid from pg_proc
    where pronamespace = 'pg_catalog'::regnamespace and proname in ('lo_creat', 'lo_create', 'lo_from_bytea')
  loop
    execute format('revoke execute on function %s from public', name);
  end loop;
end $$;
\if :has_reader
  alter default privileges for role sluice grant usage on schemas to sluice_reader;
  alter default privileges for role sluice grant select on tables to sluice_reader;
\endif
SQL
