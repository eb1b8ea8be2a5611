#!/bin/bash
# At the first start, make the database and run the scripts of /docker-entrypoint-initdb.d; then serve.
set -euo pipefail
export PGDATA=/var/lib/postgresql/data
if [ ! -e "$PGDATA/PG_VERSION" ]; then
  initdb --encoding=UTF8 --locale=C.UTF-8 --username="$POSTGRES_USER" --pwfile=<(printf '%s' "$POSTGRES_PASSWORD") \
    --auth-local=trust --auth-host=scram-sha-256 --pgdata="$PGDATA.new" >/dev/null
  printf 'host all all all scram-sha-256\n' >>"$PGDATA.new/pg_hba.conf"
  pg_ctl --pgdata="$PGDATA.new" --options="-c listen_addresses=" --wait start >/dev/null
  createdb --username="$POSTGRES_USER" "$POSTGRES_DB"
  for script in /docker-entrypoint-initdb.d/*.sh; do bash "$script"; done
  pg_ctl --pgdata="$PGDATA.new" --mode=fast --wait stop >/dev/null
  mv "$PGDATA.new" "$PGDATA"
fi
exec postgres -c listen_addresses='*'
