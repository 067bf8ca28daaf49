-- A user of the database for each kind of node, with the role that `hookline team init` has made and today's password.
SET client_min_messages TO warning;
SELECT format('CREATE ROLE %I LOGIN', name) FROM unnest(ARRAY['capture', 'worker']) AS name
    WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec
\set capture `cat /run/secrets/capture.password`
\set worker `cat /run/secrets/worker.password`
ALTER ROLE capture PASSWORD :'capture';
ALTER ROLE worker PASSWORD :'worker';
GRANT team_capture TO capture;
GRANT team_member TO worker;
