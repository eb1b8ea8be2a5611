#!/bin/bash
# At the first start, create a second database beside MLflow's, for the journal of decisions: people and workflows that
# decide may write it (role plumbline), the served model may read it (role reader). Where CANARY_PASSWORD is set, a server with a
# canary may add entries (role canary), and change none.
set -euo pipefail
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --set=decider="$DECIDER_PASSWORD" --set=reader="$READER_PASSWORD" \
  --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" <<'SQL'
CREATE ROLE plumbline LOGIN PASSWORD :'decider';
CREATE ROLE reader LOGIN PASSWORD :'reader';
CREATE DATABASE plumbline OWNER plumbline;
REVOKE CONNECT ON DATABASE mlflow, plumbline FROM PUBLIC;
GRANT CONNECT ON DATABASE plumbline TO reader;
\connect plumbline
ALTER DEFAULT PRIVILEGES FOR ROLE plumbline GRANT SELECT ON TABLES TO reader;
SQL
if [ -z "${CANARY_PASSWORD:-}" ]; then exit 0; fi
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --set=canary="$CANARY_PASSWORD" \
  --username="$POSTGRES_USER" --dbname=plumbline <<'SQL'
CREATE ROLE canary LOGIN PASSWORD :'canary';
GRANT CONNECT ON DATABASE plumbline TO canary;
ALTER DEFAULT PRIVILEGES FOR ROLE plumbline GRANT SELECT, INSERT ON TABLES TO canary;
SQL
