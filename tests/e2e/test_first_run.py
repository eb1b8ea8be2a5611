"""What a new user does: a fresh clone, the README's commands in their order, and stock MLflow."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from benchmarks.machine import INSTRUCTION_SETS
from tests.support.checkouts import RECIPE, ROOT, Checkout, make_checkout
from tests.support.loopback import find_free_port, wait_for_server

pytestmark = pytest.mark.slow

README = (ROOT / "README.md").read_text(encoding="utf-8")
SKIPPED = (
    "make test",
    "make ui",
    "source ",
    "dvc exp run",
    "plumbline selftest",
)  # run elsewhere, or never ending; experiments: test_experiments, faults: test_selftest
SHORTER = ("--trials 20", "--trials 2")  # tests/tuning search longer
ASKED = {
    "dataframe_records": [{"text": "where is my parcel"}, {"text": "I was charged twice"}],
    "params": {"top_k": 2},
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def commands() -> list[list[str]]:
    text = "\n".join(blocks("bash")).replace(*SHORTER)
    lines = [line for line in text.splitlines() if line.strip()]
    return [shlex.split(line, comments=True) for line in lines if not line.startswith(SKIPPED)]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A clone whose first run, as shipped, is over, with an environment of its own."""
    made = make_checkout(tmp_path_factory.mktemp("clone"))
    made.commit("start")
    made.environment["PATH"] = f"{made.path / '.venv/bin'}{os.pathsep}{os.environ['PATH']}"
    # What is promoted with the fewest instructions that this CPU can be held to, and on the CPUs of
    # developers, has to be promoted on those between.
    made.environment |= INSTRUCTION_SETS["sse4"]
    del made.environment["PYTHONPATH"]
    made.first = made.run("make", "run", f"PYTHON={sys.executable}").stdout  # type: ignore[attr-defined]
    return made


def test_make_run_ends_with_all_one_needs_to_know(clone: Checkout) -> None:
    said = clone.first  # type: ignore[attr-defined]
    parts = ("minilm", "majority", "promote", "reports/report.html", "make ui", "plumbline predict")
    assert [part for part in parts if part not in said] == []
    assert clone.read_report("registration")["version"] == "1"
    assert (
        "python' -P -m plumbline.ci.lockfile"
        in clone.run("git", "config", "merge.dvc-lock.driver").stdout
    )
    assert "Traceback" not in said


def test_the_page_on_mlflow_names_the_runs_of_stages(clone: Checkout) -> None:
    code = f"""import mlflow
mlflow.set_tracking_uri("{clone.store}")
asked = "tags.`plumbline.stage` LIKE '%' AND tags.`plumbline.stage` != 'tune'"
runs = mlflow.search_runs(filter_string=asked, search_all_experiments=True)
print(*(name.split()[0] for name in runs["tags.mlflow.runName"]))
print(*(column for column in runs if column.startswith("metrics.")))"""
    runs, metrics = clone.run("python", "-W", "ignore", "-c", code).stdout.splitlines()
    page = (ROOT / "docs/reference/mlflow.md").read_text(encoding="utf-8")
    assert set(re.findall(r"(?m)^\| `(\w+)(?: CANDIDATE)?` \|", page)) == set(runs.split())
    for prefix in re.findall(r"`([a-z]+/)(?:\.\.\.|NAME)`", page):
        assert f" metrics.{prefix}" in f" {metrics}", prefix


@pytest.mark.parametrize("command", commands(), ids=lambda command: " ".join(command))
def test_every_command_of_the_readme(clone: Checkout, command: list[str]) -> None:
    done = clone.run(*command)
    assert "Traceback" not in done.stderr


def test_the_readme_s_python(clone: Checkout) -> None:
    (code,) = blocks("python")
    assert "label" in clone.run("python", "-W", "ignore", "-c", code).stdout


def test_the_readme_s_lines_for_own_data_are_valid(clone: Checkout, tmp_path: Path) -> None:
    from ruamel.yaml import YAML

    from plumbline.contract.loading import load_params

    yaml = YAML(typ="safe")
    values, (changes,) = yaml.load(RECIPE.read_text()), blocks("yaml")
    for section, keys in yaml.load(changes).items():
        assert set(keys) <= set(values[section])
        values[section] |= keys
    with (tmp_path / "params.yaml").open("w") as file:
        yaml.dump(values, file)
    assert load_params(tmp_path / "params.yaml").registry.model == "my-router"


def test_mlflow_models_predict(clone: Checkout) -> None:
    (clone.path / "asked.json").write_text(json.dumps(ASKED))
    command = "mlflow models predict -m models:/ticket-router@champion --env-manager local"
    done = clone.run(
        *command.split(), "-i", "asked.json", "-t", "json", MLFLOW_TRACKING_URI=clone.store
    )
    check(json.loads(done.stdout[done.stdout.index("{") :])["predictions"])


def test_mlflow_models_serve(clone: Checkout) -> None:
    port = find_free_port()
    environment = clone.environment | {"MLFLOW_TRACKING_URI": clone.store}
    command = "mlflow models serve -m models:/ticket-router@champion --env-manager local"
    server = subprocess.Popen(
        [*command.split(), "--host", "127.0.0.1", "--port", str(port)],
        cwd=clone.path,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_for_server(f"http://127.0.0.1:{port}/ping")
        body, headers = json.dumps(ASKED).encode(), {"Content-Type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{port}/invocations", body, headers)
        with urllib.request.urlopen(request, timeout=600) as answer:  # noqa: S310  loopback
            check(json.load(answer)["predictions"])
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(600)


def check(predictions: list[dict[str, object]]) -> None:
    assert len(predictions) == 2
    for answer in predictions:
        assert set(answer) == {"label", "score", "scores", "abstained"}
        assert len(answer["scores"]) == 2  # type: ignore[arg-type]
        assert 0 < answer["score"] <= 1  # type: ignore[operator]
