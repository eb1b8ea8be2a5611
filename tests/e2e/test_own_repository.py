"""A repository of one's own, with nothing of this checkout: only the wheel, beside the packages."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from tests.support.checkouts import get_clean_environment, join_path
from tests.support.installed import make_environment
from tests.support.other_plumbline import LATER, REPOSITORY, write_other_wheel
from tests.support.serving.lines import serving
from tests.support.tickets import write_tickets

from tasks.retrieval.data.generated import draw_pool
from tasks.retrieval.params import GeneratedQueries

pytestmark = pytest.mark.slow


class OwnRepository:
    """The folder that `plumbline init` made, and an environment that has plumbline's wheel."""

    def __init__(self, path: Path, environment: Path) -> None:
        self.path, self.folder = path, environment
        self.environment = {
            **get_clean_environment(),
            "PATH": join_path(environment / "bin", Path(sys.executable).parent, os.environ["PATH"]),
            "DVC_NO_ANALYTICS": "true",
            "OMP_NUM_THREADS": "1",
            "COLUMNS": "160",
        }

    def run(self, *command: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            command,
            cwd=cwd or self.path,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        output = f"{done.stdout}\n{done.stderr}"
        assert done.returncode == 0, f"{' '.join(command)}: exit {done.returncode}\n{output}"
        return output


@pytest.fixture(scope="module")
def router(built: Path, tmp_path_factory: pytest.TempPathFactory) -> OwnRepository:
    base = tmp_path_factory.mktemp("own")
    environment = make_environment(base / "environment", built)
    made = OwnRepository(base / "my-router", environment)
    tickets = write_export(base / "Fälle 2026.csv")
    made.init = made.run(  # type: ignore[attr-defined]
        "plumbline", "init", "my-router", "--data", str(tickets), cwd=base
    )
    (made.path / ".venv").symlink_to(environment)
    (environment / "ready").touch()  # as after `make setup`
    _keep_linear(made.path / "params.yaml")
    made.run("git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qam", "linear alone")
    return made


def write_export(path: Path) -> Path:
    """Write tickets as a spreadsheet of Western Europe does: semicolons, and no UTF-8."""
    rows = write_tickets(path, 900).read_text().replace(",", ";").splitlines()
    rows[0] = "Nr.;Text der Anfrage;Zuständig"
    for number in range(1, 900, 30):
        rows[number] = rows[number].replace(";", ";für ", 1)
    path.write_text("\r\n".join(rows) + "\r\n", encoding="cp1252")
    return path


def _keep_linear(params: Path) -> None:
    text = params.read_text()
    head, rest = text.split("  minilm:\n")
    params.write_text(head + "training:" + rest.split("\ntraining:")[1])


def test_a_repository_of_one_s_own_runs_and_passes_its_tests(router: OwnRepository) -> None:
    assert "label: 'Zuständig', 3 classes" in router.init  # type: ignore[attr-defined]
    assert "skipped" in router.run("make", "test")
    first = router.run("make", "run")
    assert "promote: linear may be promoted" in first
    assert "my-router version 1" in first
    assert "Data and pipelines are up to date" in router.run("dvc", "status")
    (router.path / "tests/behaviour.csv").write_text(
        "text,label\nwhere is the parcel the courier is late,delivery\nreset my password,login\n"
    )
    assert "skipped" not in router.run("make", "test")
    (router.path / "tests/behaviour.csv").write_text("text,label\nreset my password,billing\n")
    with pytest.raises(AssertionError, match="expected billing, found login"):
        router.run("make", "test")


def test_what_it_was_trained_on_is_scored_checked_for_drift_and_asked(
    router: OwnRepository,
) -> None:
    own, champion = router.path.parent / "Fälle 2026.csv", "models:/my-router@champion"
    router.run("plumbline", "score", champion, str(own), "answers.jsonl")
    lines = (router.path / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    answers = [json.loads(line) for line in lines]
    assert [answer["label"] == answer["Zuständig"] for answer in answers].count(True) > 890
    assert answers[0]["Text der Anfrage"].startswith("für ")
    assert "stable" in router.run("plumbline", "drift", str(own))
    with serving(router, uri=champion) as server:
        body = own.read_text(encoding="cp1252").encode()
        _, _, said = server.ask("POST", "/invocations", body, content_type="text/csv")
    asked = [answer["label"] for answer in json.loads(said)["predictions"]]
    assert asked == [answer["label"] for answer in answers]


def test_another_lock_runs_the_stages_again_and_a_comment_does_not(router: OwnRepository) -> None:
    params, lock = router.path / "params.yaml", router.path / "requirements.lock"
    params.write_text(params.read_text() + "# a comment\n")
    assert "Data and pipelines are up to date" in router.run("dvc", "status")
    before = lock.read_text()
    lock.write_text(before.replace("--hash=sha256:", "--hash=sha256:0", 1))
    changed = router.run("dvc", "status")
    for stage in ("ingest", "validate", "train@linear", "evaluate", "register"):
        assert f"{stage}:" in changed
    lock.write_text(before)


def test_code_that_no_stage_runs_runs_none_again(router: OwnRepository) -> None:
    (router.path / "src/tasks/another").mkdir()
    (router.path / "src/tasks/another/task.py").write_text("TASK = None\n")
    assert "Data and pipelines are up to date" in router.run("dvc", "status")


def test_an_example_of_an_own_task_adds_an_expectation(router: OwnRepository) -> None:
    folder = router.path.parent
    tickets = write_tickets(folder / "links.csv", 900)
    options = ("--data", str(tickets), "--with-task", "tickets")
    router.run("plumbline", "init", "with-task", *options, cwd=folder)
    path = folder / "with-task"
    router.run("python", "-m", "pytest", "-q", "tests", cwd=path)
    assert "accepted by" in router.run("plumbline", "run", "validate", cwd=path)
    rows = [f"{900 + row},https://example.org/{row},login\n" for row in range(40)]
    with (path / "data/raw/links.csv").open("a") as file:
        file.writelines(rows)
    with pytest.raises(AssertionError, match="links: a text says more than an address"):
        router.run("plumbline", "run", "validate", cwd=path)


def write_pairs(path: Path) -> Path:
    """Write 300 pairs as a spreadsheet does, 30 of which have the passage of another one."""
    settings = GeneratedQueries(train=330, validation=10, test=10, wrong_share=0.0, two_share=0.0)
    texts, splits = draw_pool(settings, 1)
    drawn = [(query.query, texts[query.passages[0]]) for query in splits["train"]]
    again = [(query, drawn[number][1]) for number, (query, _) in enumerate(drawn[270:300])]
    rows = [("Frage", "Antwort"), *drawn[:270], *again]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=";").writerows(rows)
    return path


def test_pairs_of_one_s_own_become_a_search_that_is_served_and_watched(
    router: OwnRepository,
) -> None:
    folder = router.path.parent
    pairs = write_pairs(folder / "pairs.csv")
    said = router.run("plumbline", "init", "help", "--data", str(pairs), cwd=folder)
    assert "query: 'Frage'; passage: 'Antwort'" in said
    search = OwnRepository(folder / "help", router.folder)
    (search.path / ".venv").symlink_to(router.folder)
    (router.folder / "ready").touch()
    assert "__pycache__" not in search.run("git", "ls-files")
    params = search.path / "params.yaml"
    head, rest = params.read_text().split("  tuned:\n")
    params.write_text(head + "training:" + rest.split("\ntraining:")[1])
    assert "may be promoted" in search.run("make", "run")
    search.run("make", "test")
    asked = pd.read_csv(pairs, sep=";").head(20)
    champion = "models:/help@champion"
    ids = []
    with serving(search, "--log-folder", "requests", uri=champion) as server:
        for query in asked["Frage"]:
            body = json.dumps({"inputs": {"query": [query]}})
            kind = {"content_type": "application/json"}
            status, headers, raw = server.ask("POST", "/invocations", body, **kind)
            assert status == 200, raw
            ids.append(headers["x-request-id"])
        assert server.stop() == 0
    labels = pd.DataFrame({"request_id": ids, "label": asked["Antwort"]})
    labels.assign(label=labels["label"].str.upper()).to_csv(search.path / "labels.csv", index=False)
    with pytest.raises(AssertionError, match="labels are not written as the model's answers are"):
        search.run("plumbline", "outcomes", "requests", "labels.csv")
    labels.to_csv(search.path / "labels.csv", index=False)
    with pytest.raises(AssertionError, match="exit 32") as few:
        search.run("plumbline", "outcomes", "requests", "labels.csv")
    assert "its evidence says 0." in str(few.value)
    search.run("plumbline", "outcomes", "export", "requests", "labels.csv", "--out", "labelled")
    (written,) = (search.path / "labelled").glob("outcomes-uniform-*.parquet")
    rows = pd.read_parquet(written)
    told = dict(zip(rows["Frage"], rows["Antwort"], strict=True))
    assert told == dict(zip(asked["Frage"], asked["Antwort"], strict=True))


def test_its_code_is_that_of_the_wheel(router: OwnRepository) -> None:
    code = "import plumbline.entrypoint as e; print(e.__file__)"
    assert "environment/lib" in router.run("python", "-c", code)
    assert shutil.which("plumbline", path=router.environment["PATH"].partition(os.pathsep)[0])


def test_a_champion_is_read_after_an_upgrade(
    router: OwnRepository, built: Path, tmp_path: Path
) -> None:
    router.run("plumbline", "run")
    text = "please help the parcel courier is late"
    champion = router.run("plumbline", "champion", "my-router")
    answer = router.run("plumbline", "predict", "--json", text)
    router.run("git", "add", "--all")
    router.run("git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "a champion")
    changes = {f"{REPOSITORY}/Makefile": [("list the targets", "list each target")]}
    other = write_other_wheel(built, tmp_path / "dist", LATER, changes)
    later = OwnRepository(router.path, make_environment(tmp_path / "environment", other))
    upgraded = later.run("plumbline", "upgrade")
    assert f"plumbline 0.1.0 -> {LATER}" in upgraded
    assert "git commit" in upgraded
    router.run("git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "an upgrade")
    assert "list each target" in (router.path / "Makefile").read_text()
    assert later.run("plumbline", "champion", "my-router") == champion
    assert later.run("plumbline", "predict", "--json", text) == answer
    assert "train@linear:" in later.run("dvc", "status")
    assert "up to date" in later.run("plumbline", "upgrade", "--check")
