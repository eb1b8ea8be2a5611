#!/bin/bash
# At the first start, create a second database beside MLflow's, for the journal of decisions: people and workflows that
# decide may write it (role plumbline), the served model may read it (role reader).
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
