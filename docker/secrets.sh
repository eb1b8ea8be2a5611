#!/usr/bin/env bash
# Generate the passwords of compose.yaml, once, readable only by you:
#   docker/.env           what docker compose reads
#   docker/client.env     for plumbline and MLflow on this machine: set -a; . docker/client.env; set +a
#   docker/secrets/token  the bearer token of requests to the served model. Its mode lets the containers' users read it;
#                         its folder is closed to everybody else.
set -euo pipefail
cd "$(dirname "$0")"
umask 077
random() { head -c "$1" /dev/urandom | od -An -v -tx1 | tr -d ' \n'; }
if [ -e .env ]; then echo "docker/.env exists already; nothing was changed"; exit 0; fi
admin=$(random 24) decider=$(random 24)
mkdir -p secrets
rm -f secrets/token
random 32 >secrets/token
chmod 444 secrets/token
cat >client.env <<END
MLFLOW_TRACKING_URI=http://127.0.0.1:5000
MLFLOW_TRACKING_USERNAME=admin
MLFLOW_TRACKING_PASSWORD=$admin
PLUMBLINE_JOURNAL_URI=postgresql+psycopg2://plumbline@127.0.0.1/plumbline
PGPASSWORD=$decider
# Without these, MLflow's client contacts the object store directly, which it cannot reach from here.
MLFLOW_ENABLE_PROXY_MULTIPART_DOWNLOAD=false
MLFLOW_ENABLE_PROXY_MULTIPART_UPLOAD=false
END
cat >.env.new <<END
MODEL=models:/ticket-router@champion
POSTGRES_PASSWORD=$(random 24)
DECIDER_PASSWORD=$decider
READER_PASSWORD=$(random 24)
S3_ACCESS_KEY=GK$(random 12)
S3_SECRET_KEY=$(random 32)
GARAGE_RPC_SECRET=$(random 32)
MLFLOW_SECRET_KEY=$(random 32)
MLFLOW_ADMIN_PASSWORD=$admin
END
mv .env.new .env
echo "wrote docker/.env, docker/client.env and docker/secrets/token"
