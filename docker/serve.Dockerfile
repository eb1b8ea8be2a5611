# A registered model over HTTP, without torch and without MLflow:
#   docker build -f docker/serve.Dockerfile -t plumbline-serve .
ARG BASE=docker.io/library/python:3.11-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b

FROM ${BASE} AS build
WORKDIR /build
COPY requirements-serve.lock ./
RUN python -m venv --without-pip /opt/venv && \
    python -m pip --python /opt/venv/bin/python install --no-cache-dir --no-deps --only-binary :all: --require-hashes \
      --requirement requirements-serve.lock && \
    rm -r /opt/venv/lib/python3.11/site-packages/pyarrow/include \
      /opt/venv/lib/python3.11/site-packages/pyarrow/tests \
      /opt/venv/lib/python3.11/site-packages/pyarrow/*flight*
COPY LICENSE README.md pyproject.toml ./
COPY src src
RUN python -m pip --python /opt/venv/bin/python install --no-cache-dir --no-deps --no-build-isolation . && \
    python -m pip --python /opt/venv/bin/python uninstall --yes setuptools

FROM ${BASE}
COPY --from=build /opt/venv /opt/venv
# The only folder it writes to besides /tmp: models fetched from the registry, kept across restarts if a volume is mounted.
RUN install -d -m 0700 -o 10001 -g 10001 /var/cache/plumbline
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp USER=plumbline \
    PLUMBLINE_CACHE=/var/cache/plumbline
USER 10001:10001
WORKDIR /tmp
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["python", "-I", "-c", \
  "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8000, timeout=4); c.request('GET', '/ping'); exit(c.getresponse().status != 200)"]
ENTRYPOINT ["plumbline", "serve"]
CMD ["--help"]
