"""Models of the user's own: tasks, of a page and of examples/, and a torch module."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.checkouts import ROOT, Checkout
from tests.support.serving.lines import serving
from tests.support.tickets import write_tickets

pytestmark = pytest.mark.slow
EXAMPLES = {"image": "shapes", "table": "houses"}


def make_repository(folder: Path) -> Checkout:
    write_tickets(folder / "tickets.csv", 900)
    base = Checkout(folder)
    base.run("plumbline", "init", "own", "--data", "tickets.csv")
    return Checkout(folder / "own")


def follow_page(repository: Checkout, page: str, **evaluation: Any) -> None:
    """Write the files of a page, and replace keys of params.yaml by those on the page."""
    text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
    for name, code in re.findall(r"```python\n# (\S+)\n(.*?)```", text, re.DOTALL):
        (repository.path / name).parent.mkdir(parents=True, exist_ok=True)
        (repository.path / name).write_text(code, encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    path = repository.path / "params.yaml"
    params = yaml.safe_load(path.read_text()) | yaml.safe_load(block)
    params["evaluation"] |= {"simple_candidate": None, **evaluation}
    # The machine may have much else to do.
    params["evaluation"]["budget"] |= {"one_p95_ms": None, "batch_p95_ms": None}
    params["control"]["candidates"] = list(params["candidates"])
    path.write_text(yaml.safe_dump(params), encoding="utf-8")


def ask_everywhere(repository: Checkout, row: dict[str, Any]) -> list[dict[str, Any]]:
    """Answer one row by `plumbline score` and by `plumbline serve`."""
    (repository.path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    champion = "models:/own@champion"
    repository.run("plumbline", "score", champion, "rows.jsonl", "answers.jsonl")
    with serving(repository, uri=champion) as server:
        body = json.dumps({"dataframe_records": [row]})
        _, _, answer = server.ask("POST", "/invocations", body, content_type="application/json")
    return [
        json.loads((repository.path / "answers.jsonl").read_text()),
        *json.loads(answer)["predictions"],
    ]


def test_the_task_on_the_page_is_promoted_served_and_scored(tmp_path: Path) -> None:
    own = make_repository(tmp_path)
    follow_page(own, "reference/smallest-task", max_calibration_error=None)
    own.run("plumbline", "run")
    registration = own.read_report("registration")
    assert (registration["verdict"], registration["version"]) == ("promote", "1")
    for answer in ask_everywhere(own, {"x": 0.5}):
        assert answer["y"] == pytest.approx(1.0, abs=0.05)


def test_an_own_module_is_promoted_served_and_scored(tmp_path: Path) -> None:
    own = make_repository(tmp_path)
    follow_page(own, "how-to/bring-your-model")
    own.run("plumbline", "run")
    registration = own.read_report("registration")
    assert (registration["verdict"], registration["winner"]) == ("promote", "convolution")
    for answer in ask_everywhere(own, {"text": "my parcel is late where is the courier"}):
        assert answer["label"] == "delivery"


@pytest.fixture(scope="module", params=EXAMPLES)
def example(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Checkout, Path]:
    """A repository in which the task of an installed package was run once, and its code."""
    folder = tmp_path_factory.mktemp(request.param)
    own, source, site = make_repository(folder), folder / "source", folder / "site"
    shutil.copytree(ROOT / "examples" / request.param, source)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", site]
    subprocess.run([*command, "--no-build-isolation", source], check=True)
    own.environment["PYTHONPATH"] += f"{os.pathsep}{site}"
    task = EXAMPLES[request.param]
    limits = "one_p95_ms: 50, batch_p95_ms: 200"  # the machine may have much else to do
    shutil.copy(source / "params.yaml", own.path)
    own.replace("params.yaml", limits, "one_p95_ms: null, batch_p95_ms: null")
    own.replace("params.yaml", f"model: {task}", "model: own")
    if request.param == "table":
        own.run("python", "-m", "houses.draw", "data/raw/houses.csv")
    own.run("plumbline", "run")
    return own, site / task


def test_an_example_is_promoted_served_and_scored(example: tuple[Checkout, Path]) -> None:
    own, _ = example
    registration, golden = own.read_report("registration"), own.read_report("golden")
    assert (registration["verdict"], registration["version"]) == ("promote", "1")
    for answer in ask_everywhere(own, {name: one[0] for name, one in golden["inputs"].items()}):
        for name, expected in golden["outputs"].items():
            assert answer[name] == pytest.approx(expected[0])


def test_other_code_of_an_example_runs_the_stages_again(example: tuple[Checkout, Path]) -> None:
    own, code = example
    assert "unchanged: ingest" in own.run("plumbline", "run").stdout
    with (code / "data.py").open("a") as file:
        file.write("# a change\n")
    assert "ingest: reads the source" in own.run("plumbline", "run", "ingest").stdout


@pytest.mark.parametrize(
    ("file", "old", "new", "code", "said"),
    [
        (
            "params.yaml",
            "min_rows: 200, ",
            "min_row: 200, ",
            2,
            r"validation\.min_row: unknown key",
        ),
        ("data/raw/houses.csv", ",3.0,", ",three,", 1, r"csv:\d+: rooms: expected a number"),
        ("data/raw/houses.csv", "\n", "\n,", 1, r"houses\.csv:2: 7 cells where the header has 6"),
        ("data/raw/houses.csv", "area", "aera", 1, "is it 'aera'. then call it 'area'"),
    ],
)
def test_what_is_wrong_in_an_example_is_named(
    example: tuple[Checkout, Path], file: str, old: str, new: str, code: int, said: str
) -> None:
    path = example[0].path / file
    if not path.exists():
        pytest.skip("pictures are drawn")
    kept = path.read_text(encoding="utf-8")
    path.write_text(kept.replace(old, new, 1), encoding="utf-8")
    found = example[0].run("plumbline", "run", "ingest", code=code).stderr
    path.write_text(kept, encoding="utf-8")
    assert re.search(said, found)
    assert "Traceback" not in found
