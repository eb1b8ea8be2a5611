# The tracking server and registry of compose.yaml, with accounts, PostgreSQL and S3:
#   docker build -f docker/mlflow.Dockerfile -t plumbline-mlflow .
ARG BASE=docker.io/library/python:3.11-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b

FROM ${BASE} AS build
WORKDIR /build
COPY requirements-mlflow.lock ./
RUN python -m venv --without-pip /opt/venv && \
    python -m pip --python /opt/venv/bin/python install --no-cache-dir --no-deps --only-binary :all: --require-hashes \
      --requirement requirements-mlflow.lock

FROM ${BASE}
COPY --from=build /opt/venv /opt/venv
COPY docker/basic_auth.ini docker/accounts.py /etc/mlflow/
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp USER=plumbline \
    MLFLOW_AUTH_CONFIG_PATH=/etc/mlflow/basic_auth.ini \
    MLFLOW_DISABLE_TELEMETRY=true \
    MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false
USER 10001:10001
WORKDIR /tmp
EXPOSE 5000
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 CMD ["python", "-I", "-c", \
  "import http.client as h; c = h.HTTPConnection('127.0.0.1', 5000, timeout=4); c.request('GET', '/health'); exit(c.getresponse().status != 200)"]
ENTRYPOINT ["mlflow", "server"]
CMD ["--help"]
