"""The task of our own: its expectation finds what it should, and its cases are asked."""

from pathlib import Path

import pandas as pd
import pytest

from plumbline.contract.loading import load_params, load_task
from plumbline.quality.runner import run_checks


def find_links(texts: list[str]) -> bool:
    task = load_task("own_task")
    params = load_params(Path("params.yaml"))
    table = pd.DataFrame({"id": range(len(texts)), "split": "train", "text": texts})
    checks = task.expectations.build_checks(params, table)
    (links,) = [check for check in checks if check.name == "links"]
    (result,) = run_checks(table, [links])
    return not result.passed


@pytest.mark.filterwarnings("ignore")
def test_texts_that_are_only_an_address_are_found() -> None:
    assert find_links(["https://example.org/a", "where is my parcel"])
    assert not find_links(["my parcel: https://example.org/a", "where is my parcel"])


class Answers:
    def predict(self, columns):
        return {"label": ["delivery" for _ in columns["text"]]}


def test_the_cases_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scoring = load_task("own_task").scoring
    cases = tmp_path / "behaviour.csv"
    cases.write_text("text,label\nwhere is my parcel,delivery\nreset my password,login\n")
    monkeypatch.setattr(scoring, "CASES", cases)
    (case,) = scoring.check_own_cases(Answers())
    assert (case.num_passed, case.num_cases) == (1, 2)
    assert case.failures == ("expected login, found delivery: reset my password",)
