# One vocabulary: people, hooks and CI call the same targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
UV_VERSION := 0.13.8
FITS := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
# The first Python that fits: that of the environment, one on PATH, one that uv has.
ifndef PYTHON
  PYTHON := $(shell for name in $(BIN)/python python3.11 python3.12 python3.13 python3; do \
    $$name -c '$(FITS)' >/dev/null 2>&1 && echo $$name && exit; done; uv python find '>=3.11,<3.14' 2>/dev/null)
endif
# cpu or cuda: which build of torch is installed. For Linux, the small CPU build is locked for Python 3.11 on x86-64; what is
# called cuda is the build of the package index, which runs without a GPU too.
PLATFORM := $(shell uname -s -m | tr ' ' -)-$(if $(PYTHON),$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'))
HAS_CPU_BUILD := $(filter Darwin-% Linux-x86_64-3.11,$(PLATFORM))
ifndef TORCH
  TORCH := $(shell nvidia-smi >/dev/null 2>&1 && echo cuda || echo $(if $(HAS_CPU_BUILD),cpu,cuda))
endif
# Whether the DVC remote or a source of params.yaml is in an object store or on a server, which takes more packages.
HASH := \#
REMOTES := $(if $(shell { echo "$$DVC_REMOTE"; cat .dvc/config .dvc/config.local params.yaml; } 2>/dev/null | \
  grep -E '^[^$(HASH)]*(s3|gs|ssh)://'),-remotes)
LOCKS := requirements.lock requirements-$(TORCH).lock $(REMOTES:-%=requirements-%.lock)
READY := $(VENV)/ready$(REMOTES)
# Where the CPU wheel for Linux is found: a folder of wheels that pip knows of, else PyTorch's own index.
ifeq ($(TORCH)-$(shell uname -s),cpu-Linux)
  WHEELS := $(if $(PIP_FIND_LINKS),--find-links "$(PIP_FIND_LINKS)",--torch-backend cpu)
endif

# One more process of tests than cores, as some only wait; what tests/support/warm has imported is in memory once for all.
PROCESSES ?= $(shell cores=$$(getconf _NPROCESSORS_ONLN); echo $$((cores < 5 ? cores + 1 : 6)))
# Tests of the code's form and graph, which `make check` runs.
CHECKS := tests/test_dag.py tests/test_style.py tests/workflows/test_official_parser.py

# For jobs that install nothing.
CI_PYTHON := PYTHONPATH=src python3 -P

export PATH := $(CURDIR)/$(BIN):$(PATH)
export MLFLOW_DISABLE_TELEMETRY := true
export DVC_NO_ANALYTICS := true
# What is imported is compiled once. All modules of all packages would take five times as long as installing them.
unexport PYTHONDONTWRITEBYTECODE
# Nothing is installed into, or imported from, another environment that is active. pip.conf and uv.toml keep their indexes.
unexport VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV PYTHONHOME PYTHONPATH PYTHONUSERBASE PIP_PYTHON PIP_REQUIRE_VIRTUALENV \
  PIP_USER PIP_TARGET PIP_PREFIX PIP_ROOT PIP_CONSTRAINT UV_PYTHON UV_SYSTEM_PYTHON UV_PROJECT_ENVIRONMENT UV_PROJECT \
  UV_WORKING_DIR UV_CONSTRAINT UV_OVERRIDE UV_MANAGED_PYTHON UV_NO_MANAGED_PYTHON UV_PYTHON_PREFERENCE UV_VENV_CLEAR
# In each process of the environment, its programs come first on PATH: a stage of `.venv/bin/dvc repro` is `python ...`.
FIND_PROGRAMS := import os, sys; own = os.path.dirname(sys.executable) + os.pathsep; \
  path = os.environ.get("PATH", os.defpath); os.environ["PATH"] = path if path.startswith(own) else own + path

.PHONY: help setup run fresh public-key calendar remote test ui keep-registry note start-training clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## install the locked environment into .venv

$(READY): $(LOCKS) pyproject.toml
	@$(or $(PYTHON),false) -c '$(FITS)' || \
	  { echo "plumbline needs Python 3.11, 3.12 or 3.13; found $$($(or $(PYTHON),python3) --version 2>&1 || true)."; \
	    echo "Get one: uv python install 3.12 (https://docs.astral.sh/uv), or the packages python3.12 and python3.12-venv of your"; \
	    echo "system. Then run make again, or name it: make PYTHON=/path/to/python3.12 ..."; exit 2; } >&2
	@$(if $(filter cpu,$(TORCH)),$(if $(HAS_CPU_BUILD),,echo "no CPU build of torch is locked for $(PLATFORM); run make TORCH=cuda ...: it needs no GPU" >&2; exit 2))
	@echo "installing $$(cat $(LOCKS) | grep -c '^[a-z].*==') locked packages into $(VENV) (torch: $(TORCH)); the first time takes minutes"
	@test -x $(BIN)/python || $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-user --target= --prefix "$(CURDIR)/$(VENV)" --root / \
	  uv==$(UV_VERSION)
	@# Programs start the python beside them, so that the folder may be moved or copied. uv removes no pip from a seeded environment.
	@$(BIN)/uv venv --quiet --relocatable --allow-existing --python $(BIN)/python $(VENV) && echo 'seed = true' >> $(VENV)/pyvenv.cfg
	@printf '#!/bin/sh\nexec "$$(dirname -- "$$(realpath -- "$$0")")/python" -m pip "$$@"\n' | tee $(BIN)/pip3 > $(BIN)/pip
	@cd $(VENV)/lib/python*/site-packages && echo '$(FIND_PROGRAMS)' > find_programs.pth
	@$(BIN)/uv pip sync --python $(BIN)/python $(if $(CI),--quiet,$(shell [ -t 2 ] || echo --quiet)) --require-hashes $(WHEELS) $(LOCKS)
	@$(BIN)/uv pip install --python $(BIN)/python --quiet --no-deps --no-build-isolation --editable .
	@cd $(VENV)/lib/python*/site-packages && echo ../../../../src > new.pth && mv new.pth __editable__.plumbline-*.pth
	@! git rev-parse --git-dir >/dev/null 2>&1 || git config merge.dvc-lock.driver "'$$(git rev-parse --show-prefix)$(BIN)/python' -P -m plumbline.ci.lockfile %O %A %B || git merge-file %A %O %B"
	@touch $@

run: setup  ## data in, a registered model out, as in params.yaml or RECIPE=name; PULL=--pull fetches from the DVC remote
	@$(if $(RECIPE),plumbline recipe "$(RECIPE)" --use &&) plumbline run $(PULL) && plumbline report

# What is signed is trained here: a remote could give back another model than the one that was pushed.
fresh: override PULL := $(if $(filter yes,$(PLUMBLINE_SIGNS))$(PLUMBLINE_PRIVATE_KEY),,$(PULL))
fresh: setup  ## as run, for CI: data, evaluation and registration are computed here; only trained candidates are restored
	@plumbline run $(PULL) ingest && plumbline run --force --single-item ingest validate && \
	  plumbline run $(PULL) train control && plumbline run --force --single-item evaluate register && plumbline report

public-key:  ## in CI: let all later steps use only what the owner of the key in the file $KEY signed
	@printf 'PLUMBLINE_PUBLIC_KEY=%s\n' "$(abspath $(KEY))" >> "$$GITHUB_ENV"

calendar:  ## in CI: whether params.yaml asks for training every so many days or labels; installs nothing
	@if grep -Eq '^[^$(HASH)]*\bevery_(days|labels)\b' params.yaml; then echo used=yes; else echo used=no; fi >> "$$GITHUB_OUTPUT"

remote: setup  ## let this checkout use the DVC remote that $DVC_REMOTE names, such as s3://bucket/folder
	@dvc remote modify --local store url "$$DVC_REMOTE"

test: setup  ## the fast tests, but for those of `make check`
	@pytest -n $(PROCESSES) --dist loadfile -m "not slow and not gpu and not cluster" $(CHECKS:%=--ignore=%)

ui: setup  ## the MLflow UI on http://127.0.0.1:5000
	@mlflow server --backend-store-uri sqlite:///$(CURDIR)/mlruns/mlflow.db --artifacts-destination mlruns/artifacts \
	  --host 127.0.0.1 --port 5000 --workers 1

keep-registry:  ## in CI: keep the registry-N.tar in the folder FROM in the GitHub release `registry`; installs nothing
	@$(CI_PYTHON) -m plumbline.ci.kept_registry "$(FROM)"

note:  ## in CI: put the file REPORT on GitLab's merge request; installs nothing
	@$(CI_PYTHON) -m plumbline.ci.gitlab note "$(REPORT)"

start-training:  ## in CI: start a pipeline of GitLab that trains; installs nothing
	@$(CI_PYTHON) -m plumbline.ci.gitlab train

clean:  ## remove the pipeline's outputs; keep the environment and the registry
	@git clean -qfdX data models reports .plumbline

include develop.mk
