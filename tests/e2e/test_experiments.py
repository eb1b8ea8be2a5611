"""`dvc exp run` tries values: it scores validation alone, and is no result of `dvc repro`."""

import json
import re
from typing import Any

import pytest
from tests.support.checkouts import Checkout
from tests.support.looks import count_looks

pytestmark = pytest.mark.slow

RATE = "candidates.gradient.learning_rate=0.1"


def read(line: Checkout, name: str) -> Any:
    return json.loads((line.path / "reports" / name).read_text())


def list_journal(line: Checkout) -> list[str]:
    return line.run("plumbline", "journal", "line").stdout.splitlines()


def list_stages(text: str) -> list[str]:
    return re.findall(r"Running stage '([^']+)'", text)


@pytest.fixture(scope="module")
def evaluated(line: Checkout) -> Checkout:
    """A checkout whose first model was evaluated and registered."""
    line.run("dvc", "repro", "--quiet")
    line.run("git", "add", "-A")
    line.run("git", "commit", "-qm", "first")
    return line


def test_an_experiment_spends_no_look_and_dvc_repro_evaluates_after_it(evaluated: Checkout) -> None:
    before, looks = list_journal(evaluated), count_looks(evaluated.path)
    assert looks > 0
    evaluated.run("dvc", "exp", "run", "-S", RATE)
    assert (list_journal(evaluated), count_looks(evaluated.path)) == (before, looks)
    assert read(evaluated, "registration.json")["version"] is None
    metrics = read(evaluated, "metrics.json")
    assert metrics["candidates"]["gradient"].keys() == {"validation"}
    assert "inside an experiment" in read(evaluated, "evidence.json")["summary"]
    assert (
        "inside an experiment" in evaluated.run("plumbline", "report", "--verdict", code=1).stdout
    )
    shown = evaluated.run("dvc", "exp", "show", "--csv").stdout
    assert "validation.squared_error" in shown

    done = evaluated.run("dvc", "repro", code=None).stdout
    assert list_stages(done) == ["evaluate", "register"]
    assert read(evaluated, "evidence.json")["verdict"] != "error"
    assert count_looks(evaluated.path) > looks
    assert list_stages(evaluated.run("dvc", "repro", code=None).stdout) in ([], ["register"])


def test_a_final_experiment_uses_the_test_split(evaluated: Checkout) -> None:
    looks = count_looks(evaluated.path)
    rate = RATE.replace("0.1", "0.2")
    evaluated.run("dvc", "exp", "run", "-S", rate, "-S", "evaluation.final=true", code=None)
    assert read(evaluated, "evidence.json")["gates"]
    assert count_looks(evaluated.path) > looks


def test_an_experiment_that_ended_before_register_is_not_taken_for_a_result(
    evaluated: Checkout,
) -> None:
    rate = RATE.replace("0.1", "0.3")
    evaluated.run("dvc", "exp", "run", "-S", rate, "-S", "evaluation.final=false", "evaluate")
    done = evaluated.run("dvc", "repro", code=None)
    assert done.returncode != 0
    assert "inside an experiment of DVC only validation is scored" in done.stderr + done.stdout
    done = evaluated.run("dvc", "repro", code=None)
    assert list_stages(done.stdout)[0] == "evaluate"
