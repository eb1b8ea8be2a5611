"""Models of the user's own, as two pages say: a predictor that needs torch, and a torch module."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.checkouts import ROOT, Checkout
from tests.support.serving.lines import serving
from tests.support.tickets import write_tickets

pytestmark = pytest.mark.slow


def make_repository(folder: Path) -> Checkout:
    write_tickets(folder / "tickets.csv", 900)
    base = Checkout(folder)
    base.run("plumbline", "init", "own", "--data", "tickets.csv")
    return Checkout(folder / "own")


def follow_page(repository: Checkout, page: str, **evaluation: Any) -> None:
    """Write the files of a page, and replace keys of params.yaml by those on the page."""
    text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
    for name, code in re.findall(
        r"```python\n# (\S+?)(?:, with torch)?\n(.*?)```", text, re.DOTALL
    ):
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


def test_a_predictor_that_needs_torch_is_promoted_served_and_scored(tmp_path: Path) -> None:
    own = make_repository(tmp_path)
    follow_page(own, "reference/smallest-task", max_calibration_error=None)
    own.replace("src/tasks/doubling/task.py", "requirements=()", 'requirements=("torch",)')
    assert "import torch" in (own.path / "src/tasks/doubling/predictor.py").read_text()
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
