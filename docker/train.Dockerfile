# The whole locked environment, to run the pipeline on a checkout that is mounted at /project:
#   docker build -f docker/train.Dockerfile -t plumbline-train .
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/project" plumbline-train
ARG BASE=docker.io/library/python:3.11-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b

FROM ${BASE} AS build
# cpu or cuda: which build of torch is installed.
ARG TORCH=cpu
# Where pip finds wheels besides its index: an address, or a folder mounted into the build. If empty, PyTorch's own index.
ARG PIP_FIND_LINKS=""
WORKDIR /build
COPY requirements.lock requirements-cpu.lock requirements-cuda.lock ./
RUN python -m venv /opt/venv && \
    /opt/venv/bin/pip install --no-cache-dir --no-deps --require-hashes \
      --requirement requirements.lock
RUN if [ "$TORCH" = cpu ] && [ -z "$PIP_FIND_LINKS" ]; then export PIP_INDEX_URL=https://download.pytorch.org/whl/cpu; fi && \
    /opt/venv/bin/pip install --no-cache-dir --no-deps --require-hashes \
      --requirement "requirements-$TORCH.lock"
WORKDIR /project
COPY LICENSE README.md pyproject.toml ./
COPY src src
# Editable: the code that runs is the checkout at /project.
RUN /opt/venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation --editable .

FROM ${BASE}
# git is the version of the base's Debian.
# hadolint ignore=DL3008
RUN apt-get update && \
    apt-get install --yes --no-install-recommends git && \
    rm -rf /var/lib/apt/lists/* && \
    git config --system --add safe.directory /project
COPY --from=build /opt/venv /opt/venv
COPY --from=build /project /project
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp USER=plumbline \
    DVC_NO_ANALYTICS=true \
    MLFLOW_DISABLE_TELEMETRY=true
USER 10001:10001
WORKDIR /project
CMD ["plumbline", "run"]
