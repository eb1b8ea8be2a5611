#!/bin/bash
# Beside MLflow's database, at the first start: one for the journal of decisions, which whoever decides may write
# (plumbline) and the served model may read (reader).
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
