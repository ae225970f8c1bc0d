SELECT n.nspname::text, CASE WHEN n.nspname = current_schema() THEN 1 ELSE 0 END::bigint FROM pg_catalog.pg_namespace AS n
